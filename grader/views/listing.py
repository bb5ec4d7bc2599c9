"""Which katas there are, how far the learner is, and where to go on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.table import Table

from grader.views.screen import Screen

STYLES = {
    "not started": "",
    "started": "cyan",
    "failing": "red",
    "passed": "green",
    "mastered": "bold green",
    "missing": "yellow",
}
BAR = 10


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
    score: float = 0.0
    attempts: int = 0
    best: str = ""
    due: str = ""
    whole: bool = False


def show_list(screen: Screen, rows: Sequence[Row]) -> None:
    """Print all katas as a table; where it is narrow, what is long goes below the title.

    Where that is too narrow too, each kata is a few lines of its own.
    """
    tried = any(row.attempts for row in rows)
    columns = _columns(rows, tried)
    widths = [max((len(value) for value in column), default=0) for column in columns]
    wide = sum(widths) + 2 * len(widths) <= screen.width
    kata, title, state, minutes, *_, file = widths
    if kata + max(title, file) + state + minutes + 2 * 4 > screen.width:
        _show_blocks(screen, rows)
        return
    table = Table(box=None, padding=(0, 2, 0, 0), show_edge=False, header_style="")
    table.add_column("kata", no_wrap=True)
    table.add_column("title", overflow="fold")
    table.add_column("state", no_wrap=wide)
    if wide or not tried:
        table.add_column("minutes", justify="right", no_wrap=True)
    if wide and tried:
        table.add_column("attempts", justify="right", no_wrap=True)
        table.add_column("best", justify="right", no_wrap=True)
        table.add_column("due", no_wrap=True)
    if wide:
        table.add_column("file", no_wrap=True)
    for row in rows:
        below = "" if wide else "".join(f"\n{words}" for words in _below(row))
        cells = [
            screen.text(row.name),
            screen.text(f"{row.title}{below}"),
            screen.text(row.state, STYLES[row.state]),
        ]
        if wide or not tried:
            cells.append(screen.text(str(row.minutes)))
        if wide and tried:
            cells += [screen.text(str(row.attempts)), screen.text(row.best), screen.text(row.due)]
        if wide:
            cells.append(screen.text(row.file))
        table.add_row(*cells)
    screen.table(table)


def _show_blocks(screen: Screen, rows: Sequence[Row]) -> None:
    for number, row in enumerate(rows):
        if number:
            screen.line()
        screen.line(f"{row.name} · {row.title}", "bold")
        screen.line(f"{row.state} · {row.minutes} minutes", STYLES[row.state])
        file, *figures = _below(row)
        for words in figures:
            screen.line(words)
        screen.raw(file)


def show_overview(
    screen: Screen,
    rows: Sequence[Row],
    steps: Sequence[tuple[str, str]],
    streak: int = 0,
    remarks: Sequence[str] = (),
) -> None:
    """Print how far the learner is, what is due, and the one next step."""
    counts = [
        f"{sum(row.state == state for row in rows)} {state}"
        for state in STYLES
        if any(row.state == state for row in rows)
    ]
    katas = "1 kata" if len(rows) == 1 else f"{len(rows)} katas"
    screen.line(f"{katas}: {', '.join(counts)}" if rows else "there are no katas yet")
    for row in rows:
        filled = int(row.score * BAR + 1e-9)
        words = [row.state if row.state != "failing" else f"failing, {int(row.score * 100)} %"]
        words += [row.due] if row.due else []
        # A bar in a narrow place would push the words onto a line of their own.
        bar = f"{'█' * filled}{'░' * (BAR - filled)}  " if screen.width >= 50 else ""
        screen.marked(f"  {row.name:<8}", (bar, STYLES[row.state]), " · ".join(words))
    if streak:
        screen.line(f"{streak} day{'s' if streak > 1 else ''} in a row")
    for remark in remarks:
        screen.line(remark)
    screen.rows(steps)


def _below(row: Row) -> list[str]:
    words = [f"{row.attempts} attempts"] if row.attempts > 1 else []
    words += ["1 attempt"] if row.attempts == 1 else []
    words += [f"best {row.best}"] if row.best else []
    words += [row.due] if row.due else []
    return [row.file, *([" · ".join(words)] if words else [])]


def _columns(rows: Sequence[Row], tried: bool) -> list[list[str]]:
    figures = [
        ["attempts", *(str(row.attempts) for row in rows)],
        ["best", *(row.best for row in rows)],
        ["due", *(row.due for row in rows)],
    ]
    return [
        ["kata", *(row.name for row in rows)],
        ["title", *(row.title for row in rows)],
        ["state", *(row.state for row in rows)],
        ["minutes"],
        *(figures if tried else []),
        ["file", *(row.file for row in rows)],
    ]
