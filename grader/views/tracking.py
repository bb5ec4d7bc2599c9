"""A kata's attempts over time: scores, bugs and times as a small plot."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from rich.table import Table

from grader.views.screen import Screen
from grader.views.times import span

LEVELS = "▁▂▃▄▅▆▇█"
DIGITS = "0123456789"
MOST_ROWS = 10
MOST_BUGS = 8
# A column of the plot is one attempt; more than this no terminal shows well.
MOST_COLUMNS = 60


@dataclass(frozen=True)
class Trial:
    """One attempt as it is shown. `worked` is in seconds, None where it is not known."""

    date: str
    status: str
    score: float
    worked: float | None
    hints: int
    bugs: tuple[str, ...]


def show_history(screen: Screen, title: str, trials: Sequence[Trial]) -> None:
    """Print the latest attempts, oldest first, and below them how things went."""
    passes = [trial for trial in trials if trial.status == "passed"]
    times = [trial.worked for trial in passes if trial.worked is not None]
    words = [_count(len(trials), "attempt"), _count(len(passes), "pass", "passes")]
    words += [f"best time {span(min(times))}"] if times else []
    screen.line(f"{title} · {' · '.join(words)}", "bold")
    if len(trials) > MOST_ROWS:
        screen.line(f"the latest {MOST_ROWS}, oldest first:")
    _show_table(screen, trials[-MOST_ROWS:])
    screen.line()
    _plot_scores(screen, trials)
    _plot_times(screen, [trial for trial in passes if trial.worked is not None])


def _show_table(screen: Screen, trials: Sequence[Trial]) -> None:
    table = Table(box=None, padding=(0, 2, 0, 0), show_edge=False, header_style="")
    wide = screen.width >= 70
    for name in ("when", "result", "score"):
        table.add_column(name, justify="right" if name == "score" else "left", no_wrap=True)
    if wide:
        table.add_column("time", justify="right", no_wrap=True)
        table.add_column("hints", justify="right", no_wrap=True)
        table.add_column("bugs", overflow="fold")
    for trial in trials:
        cells = [trial.date if wide else trial.date[5:], trial.status.replace("_", " ")]
        cells.append(f"{int(trial.score * 100 + 1e-9)} %")
        if wide:
            worked = "" if trial.worked is None else span(trial.worked)
            cells += [worked, str(trial.hints or ""), ", ".join(trial.bugs)]
        table.add_row(*(screen.text(cell) for cell in cells))
    screen.table(table)


def _plot_scores(screen: Screen, trials: Sequence[Trial]) -> None:
    """Draw one column for each attempt: how much held, and which bugs were met."""
    counts = Counter(bug for trial in trials for bug in trial.bugs)
    bugs = [bug for bug, _ in counts.most_common(MOST_BUGS)]
    label = min(max([len("score"), *(len(bug) for bug in bugs)]), max(10, screen.width // 2))
    columns = max(5, min(MOST_COLUMNS, screen.width - label - 12))
    shown = trials[-columns:]
    levels = LEVELS if screen.unicode else DIGITS
    scores = "".join(levels[int(trial.score * (len(levels) - 1) + 1e-9)] for trial in shown)
    screen.raw(f"  {'score':<{label}}  {scores}")
    for bug in bugs:
        marks = "".join("●" if bug in trial.bugs else "·" for trial in shown)
        screen.raw(f"  {_cut(bug, label):<{label}}  {marks}  {counts[bug]}x")
    left = len(counts) - len(bugs)
    if left:
        screen.line(f"  and {_count(left, 'more bug')}")


def _plot_times(screen: Screen, passes: Sequence[Trial]) -> None:
    if not passes:
        return
    shown = passes[-MOST_ROWS:]
    longest = max(trial.worked or 0.0 for trial in shown) or 1.0
    room = max(5, min(40, screen.width - 30))
    screen.line()
    screen.line("time from stub to pass")
    for trial in shown:
        worked = trial.worked or 0.0
        bar = "█" * max(1, round(worked / longest * room))
        screen.raw(f"  {trial.date[:10]}  {bar} {span(worked)}")


def _cut(words: str, room: int) -> str:
    return words if len(words) <= room else words[: room - 1] + "…"


def _count(number: int, thing: str, things: str = "") -> str:
    return f"{number} {thing if number == 1 else things or thing + 's'}"
