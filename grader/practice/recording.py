"""Keep an attempt, and tell in one line where that failed: a verdict never waits for it."""

from __future__ import annotations

from dataclasses import dataclass

from grader.catalog import Entry
from grader.errors import HistoryError
from grader.model import Verdict
from grader.practice import schedule
from grader.practice.hints import SOLUTION
from grader.practice.history import History, Origin


@dataclass(frozen=True)
class Kept:
    """What became of an attempt: nothing to say, the next review, or why it was not kept."""

    review: schedule.Review | None = None
    fault: str = ""


def keep(entry: Entry, verdict: Verdict, source: bytes, origin: Origin = "command") -> Kept:
    """Record a verdict about the kata's own file; a fault of the grader is no attempt."""
    if verdict.status == "grader_error":
        return Kept()
    history = History()
    try:
        known = history.cards() if verdict.status == "passed" else {}
        # Noted before the pass, which closes the account of hints.
        gave_up = verdict.status == "passed" and SOLUTION in history.hints_taken(entry.slug)
        attempt = history.record(verdict, source, origin)
        kata = entry.load_spec()
        if not schedule.counts(attempt, kata, first=entry.slug not in known):
            return Kept()
        rating = "again" if gave_up else schedule.rating_of(attempt, kata)
        return Kept(schedule.review(history, entry.slug, rating, attempt.at))
    except HistoryError as error:
        return Kept(fault=f"this attempt was not recorded: {error}")
    except ImportError as error:
        return Kept(fault=f"the review schedule is off: {error}; python -m pip install -e .")
