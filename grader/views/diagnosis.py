"""Everything that is known of a failure: all checks, both results cell by cell, the bugs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from rich.text import Text

from grader.model import CheckResult, Counterexample, Verdict
from grader.views.following import matrices
from grader.views.screen import Screen
from grader.views.terminal import WORDS, cause_of, name_of

# Nested lists as the engine writes tensors, and where in a larger tensor a row stands.
TENSOR = re.compile(r"(\[.*?\])(?: as before)?(?: at (\[[\d, ]*\]))?", re.DOTALL)
PIECE = re.compile(r"[\[\]]|[^\[\],\s]+")
# Matrices of more rows than this would push everything else off the screen.
MOST_ROWS = 12


def show_diagnosis(screen: Screen, verdict: Verdict, title: str, age: str) -> None:
    """Print every failing check in full, then what waits, the bugs and all notes."""
    word, style = WORDS[verdict.status]
    screen.heading(word, style, f"{name_of(verdict)} · {title}", age)
    failed = [check for check in verdict.checks if check.status == "failed"]
    for number, check in enumerate(failed, 1):
        screen.line()
        count = f"{number} of {len(failed)}  " if len(failed) > 1 else ""
        place = f"{verdict.path}:{check.line}" if check.line else ""
        screen.heading(f"{count}failed", "red", check.title, place)
        _show_check(screen, check)
    waiting = [check.title for check in verdict.checks if check.status == "skipped"]
    screen.line()
    if waiting:
        screen.rows([("waiting", "\n".join(waiting))])
    passed = sum(check.status == "passed" for check in verdict.checks)
    screen.rows([("passed", f"{passed} of {len(verdict.checks)} checks")])
    cause = cause_of(verdict)
    if not cause and verdict.status == "failed" and any(c.counterexample for c in failed):
        cause = "not a bug I know"
    if cause:
        screen.rows([("cause", cause)])
    screen.rows([("" if n else "note", note) for n, note in enumerate(verdict.notes)])


def _show_check(screen: Screen, check: CheckResult) -> None:
    shown = check.counterexample
    if shown is None:
        screen.rows([("what", check.message)])
        return
    if shown.called:
        screen.rows([("called", shown.called)])
    expected, got = parsed(shown.expected), parsed(shown.got)
    if expected is None or got is None or _shape(expected[0]) != _shape(got[0]):
        _show_texts(screen, shown)
    else:
        words = ("before", "after") if shown.expected.endswith("as before") else ("expected", "got")
        _show_both(screen, expected, got, words)
    if check.message and check.message != shown.got:
        screen.rows([("what", check.message)])
    if shown.shapes:
        screen.rows([("shapes", "\n".join(f"{name} {shape}" for name, shape in shown.shapes))])


def _show_texts(screen: Screen, shown: Counterexample) -> None:
    for label, words, style in (("expected", shown.expected, "green"), ("got", shown.got, "red")):
        if not words:
            continue
        found = parsed(words)
        if found is None:
            screen.rows([(label, words)])
            continue
        screen.rows([(label, f"at {found[1]}" if found[1] else "")])
        for lead, matrix in matrices(found[0]):
            _show_matrix(screen, lead, matrix, style)


def _show_matrix(screen: Screen, lead: Sequence[int], matrix: Any, style: str) -> None:
    if lead:
        screen.line(f"    at {list(lead)}")
    width = max((len(cell) for row in matrix for cell in row), default=1)
    for row in matrix[:MOST_ROWS]:
        screen.clipped(Text.assemble("    ", *_cells(screen, row, row, width, style, marked=False)))


def _show_both(
    screen: Screen, expected: tuple[Any, str], got: tuple[Any, str], words: tuple[str, str]
) -> None:
    """Print two results of the same shape; a cell that differs has a star, and a colour.

    `words` are what they are called: a check that nothing changes has a before and an after.
    """
    where = f", row {expected[1]}" if expected[1] else ""
    pairs = list(zip(matrices(expected[0]), matrices(got[0]), strict=True))
    cells = [cell for (_, one), (_, two) in pairs for row in (*one, *two) for cell in row]
    width = max((len(cell) for cell in cells), default=1) + 1
    columns = max((len(row) for (_, one), _ in pairs for row in one), default=1)
    beside = 2 * columns * (width + 1) + 12 <= screen.width
    screen.rows([("compared", f"{words[0]} and {words[1]}{where}; * marks what differs")])
    for (lead, one), (_, two) in pairs:
        if lead:
            screen.line(f"    at {list(lead)}")
        left = [_cells(screen, a, b, width, "green") for a, b in zip(one, two, strict=True)]
        right = [_cells(screen, b, a, width, "red") for a, b in zip(one, two, strict=True)]
        if beside:
            for a, b in list(zip(left, right, strict=True))[:MOST_ROWS]:
                screen.clipped(Text.assemble("    ", *a, "  |  ", *b))
        else:
            for label, rows in zip(words, (left, right), strict=True):
                _show_rows(screen, label, rows[:MOST_ROWS], width + 1)
        if len(one) > MOST_ROWS:
            screen.line(f"    … {len(one) - MOST_ROWS} more rows")


def _show_rows(screen: Screen, label: str, rows: Sequence[Sequence[Text]], width: int) -> None:
    """Print a matrix; of one that is too wide, as many columns at a time as fit."""
    columns = max(len(row) for row in rows)
    fit = max(1, (screen.width - 4) // width)
    for first in range(0, columns, fit):
        last = min(columns, first + fit)
        part = f", columns {first} to {last - 1}" if columns > fit else ""
        screen.line(f"    {label}{part}")
        for row in rows:
            screen.clipped(Text.assemble("    ", *row[first:last]))


def _cells(
    screen: Screen,
    row: Sequence[str],
    other: Sequence[str],
    width: int,
    style: str,
    *,
    marked: bool = True,
) -> list[Text]:
    found: list[Text] = []
    for cell, beside in zip(row, other, strict=True):
        differs = marked and cell != beside
        found.append(screen.text(f"{cell}{'*' if differs else ' '}".rjust(width + 1)))
        if differs or not marked:
            found[-1].stylize(f"bold {style}" if differs else style)
    return found


def parsed(words: str) -> tuple[Any, str] | None:
    """Read nested lists of numbers as text, and the index that stands behind them.

    None where it is anything else, or ragged: then it is shown as it came.
    """
    found = TENSOR.fullmatch(words.strip())
    if found is None:
        return None
    stack: list[list[Any]] = [[]]
    for piece in PIECE.findall(found[1]):
        if piece == "[":
            stack.append([])
        elif piece == "]":
            if len(stack) < 2:
                return None
            done = stack.pop()
            stack[-1].append(done)
        else:
            stack[-1].append(piece)
    if len(stack) != 1 or len(stack[0]) != 1 or _shape(stack[0][0]) is None:
        return None
    return stack[0][0], found[2] or ""


def _shape(values: Any) -> tuple[int, ...] | None:
    """Return the shape of nested lists, None where they are ragged or empty."""
    if not isinstance(values, list):
        return ()
    shapes = {_shape(each) for each in values}
    inner = shapes.pop() if len(shapes) == 1 else None
    return None if inner is None else (len(values), *inner)
