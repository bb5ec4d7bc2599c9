"""Count what was said of planted bugs, and show it as a table, as lines and as data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from difflib import unified_diff

from rich.table import Table

from grader.dev.assessing import SAYINGS, Assessed, Said
from grader.dev.combining import Fit
from grader.dev.mutating import plain
from grader.dev.pooling import REPORT_VERSION
from grader.views.screen import Screen

# What the columns are called where that is not what they count.
HEADS: Mapping[Said, str] = {"wrong": "WRONG", "passed": "PASSED"}


Left = Mapping[str, Counter[Fit]]


def show_table(screen: Screen, title: str, found: Sequence[Assessed]) -> None:
    """Print one line for each number of bugs and style."""
    screen.line(title, "bold")
    table = Table(box=None, padding=(0, 1, 0, 0), show_edge=False, header_style="")
    for name in ("bugs", "style"):
        table.add_column(name, no_wrap=True)
    for name in ("of", *(HEADS.get(each, each) for each in SAYINGS)):
        table.add_column(name, justify="right", no_wrap=True)
    for size in sorted({each.size for each in found}):
        for style in dict.fromkeys(each.style for each in found):
            counts = _counts(e for e in found if (e.size, e.style) == (size, style))
            cells = [str(counts[name] or "") for name in ("graded", *SAYINGS)]
            table.add_row(*map(screen.text, (str(size), style, *cells)))
    screen.table(table)


def show_left_out(screen: Screen, left_out: Counter[Fit]) -> None:
    """Print how many combinations were looked at and not planted."""
    if left_out:
        told = ", ".join(f"{count} {reason}" for reason, count in sorted(left_out.items()))
        screen.line(f"left out: {told}")


def show_fault(screen: Screen, each: Assessed, solution: str) -> None:
    """Print a fault: what was planted, what was said, and the lines that differ."""
    screen.line()
    screen.marked(f"{each.kata} ", (HEADS.get(each.said, each.said), "bold red"), f" {each.title}")
    screen.rows([("said", each.told)])
    lines = unified_diff(
        plain(solution).splitlines(), plain(each.source).splitlines(), n=0, lineterm=""
    )
    for line in list(lines)[2:]:
        screen.raw(f"    {line}")


def as_data(found: Sequence[Assessed], left_out: Left) -> dict[str, object]:
    """Return everything as JSON holds it."""
    katas = {
        name: _totals([each for each in found if each.kata == name]) | {"left_out": dict(counts)}
        for name, counts in left_out.items()
    }
    everything = sum(left_out.values(), Counter[Fit]())
    return {
        "version": REPORT_VERSION,
        "katas": katas,
        "all": _totals(found) | {"left_out": dict(everything)},
        "faults": [
            {
                "kata": each.kata,
                "said": each.said,
                "planted": list(each.planted.bugs),
                "title": each.title,
                "told": each.told,
                "source": each.source,
            }
            for each in found
            if each.fault
        ],
    }


def _totals(found: Sequence[Assessed]) -> dict[str, object]:
    return {
        "styles": {
            style: _counts(each for each in found if each.style == style)
            for style in dict.fromkeys(each.style for each in found)
        },
        "bugs": {
            str(size): _counts(each for each in found if each.size == size)
            for size in sorted({each.size for each in found})
        },
    }


def _counts(found: Iterable[Assessed]) -> dict[str, int]:
    said = Counter(each.said for each in found)
    return {"graded": said.total(), **{name: said[name] for name in SAYINGS}}
