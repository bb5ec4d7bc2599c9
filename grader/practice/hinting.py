"""Show hints and count them: what the command and the watcher share."""

from __future__ import annotations

from collections.abc import Sequence

from grader.catalog import Entry
from grader.errors import HistoryError
from grader.isolation.following import follow
from grader.model import Verdict
from grader.practice.hints import Rung
from grader.practice.history import History
from grader.views.following import show_steps
from grader.views.screen import Screen


def known(
    history: History, entry: Entry, faults: list[str]
) -> tuple[Verdict | None, Sequence[str]]:
    """Return the last verdict, if a failure, and the hints taken; note what cannot be read."""
    try:
        latest = history.latest(entry.slug)
        taken = history.hints_taken(entry.slug)
    except HistoryError as error:
        faults.append(f"without the history: {error}")
        return None, ()
    passed = latest is None or latest[0].status == "passed"
    return (None if passed or latest is None else latest[1]), taken


def take(
    history: History, entry: Entry, rung: Rung, taken: Sequence[str], faults: list[str]
) -> None:
    """Note that a hint was taken, once."""
    if rung.name in taken:
        return
    try:
        history.take_hint(entry.slug, rung.name)
    except HistoryError as error:
        faults.append(f"this hint was not counted: {error}")


def show_rung(out: Screen, entry: Entry, rung: Rung, label: str) -> None:
    """Print one rung; a trace is followed now."""
    out.line(f"{label}: {rung.title}", "bold")
    if rung.recipe is None:
        out.line(rung.text)
        return
    try:
        steps = follow(entry, rung.recipe)
    except HistoryError as error:
        out.line(str(error))
        return
    out.line("Your smallest failing case, and what each step should make of it:")
    show_steps(out, steps)
