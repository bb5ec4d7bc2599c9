"""Where the learner stands, as the rows of a list."""

from __future__ import annotations

from collections.abc import Sequence

from grader.catalog import written
from grader.practice.clock import now
from grader.practice.progress import Standing, progress
from grader.views.listing import Row
from grader.views.times import span, when


def rows_of_katas(standings: Sequence[Standing] | None = None) -> list[Row]:
    """Return what a list of katas shows, of all of them by default."""
    at = now()
    if standings is None:
        standings = progress(at).standings
    return [
        Row(
            each.entry.number,
            each.entry.name,
            spec.title,
            each.state,
            spec.minutes,
            written(each.entry.stub_path),
            each.score,
            each.attempts,
            "" if each.best is None else span(each.best),
            "" if each.due is None else when(each.due, at),
            each.whole,
        )
        for each in standings
        for spec in [each.entry.load_spec()]
    ]
