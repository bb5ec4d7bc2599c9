"""Which katas there are, and where to go on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.table import Table

from grader.views.screen import Screen

STYLES = {"not started": "", "started": "cyan", "missing": "yellow"}


@dataclass(frozen=True)
class Row:
    """One kata as it is listed. `file` is how the learner would open it.

    `whole` says that it is handed out as an answer to grade, not as one to write.
    """

    number: int
    name: str
    title: str
    state: str
    minutes: int
    file: str
    whole: bool = False


def show_list(screen: Screen, rows: Sequence[Row]) -> None:
    """Print all katas as a table; where it is narrow, the file goes below the title.

    Where that is too narrow too, each kata is a few lines of its own.
    """
    widths = [max((len(value) for value in column), default=0) for column in _columns(rows)]
    wide = sum(widths) + 2 * len(widths) <= screen.width
    kata, title, state, minutes, file = widths
    if kata + max(title, file) + state + minutes + 2 * 4 > screen.width:
        for number, row in enumerate(rows):
            if number:
                screen.line()
            screen.line(f"{row.name} · {row.title}", "bold")
            screen.line(f"{row.state} · {row.minutes} minutes", STYLES[row.state])
            screen.raw(row.file)
        return
    table = Table(box=None, padding=(0, 2, 0, 0), show_edge=False, header_style="")
    table.add_column("kata", no_wrap=True)
    table.add_column("title", overflow="fold")
    table.add_column("state", no_wrap=wide)
    table.add_column("minutes", justify="right", no_wrap=True)
    if wide:
        table.add_column("file", no_wrap=True)
    for row in rows:
        cells = [
            screen.text(row.name),
            screen.text(row.title if wide else f"{row.title}\n{row.file}"),
            screen.text(row.state, STYLES[row.state]),
            screen.text(str(row.minutes)),
        ]
        table.add_row(*cells, *([screen.text(row.file)] if wide else []))
    screen.table(table)


def show_overview(screen: Screen, rows: Sequence[Row], steps: Sequence[tuple[str, str]]) -> None:
    """Print how far the learner is, and the one next step."""
    counts = [
        f"{sum(row.state == state for row in rows)} {state}"
        for state in STYLES
        if any(row.state == state for row in rows)
    ]
    katas = "1 kata" if len(rows) == 1 else f"{len(rows)} katas"
    screen.line(f"{katas}: {', '.join(counts)}" if rows else "there are no katas yet")
    screen.rows(steps)


def _columns(rows: Sequence[Row]) -> list[list[str]]:
    return [
        ["kata", *(row.name for row in rows)],
        ["title", *(row.title for row in rows)],
        ["state", *(row.state for row in rows)],
        ["minutes"],
        ["file", *(row.file for row in rows)],
    ]
