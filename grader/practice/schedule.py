"""When to repeat a kata: spaced repetition by the FSRS model.

A kata is reviewed when its stub is filled in again and passes; running a file
that passed already says nothing about memory, and does not count. Nor does a
warm-up, whose file holds all but one letter of the answer.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, Literal, get_args

from grader.errors import UsageError
from grader.model import Kata
from grader.practice.history import Attempt, History

if TYPE_CHECKING:
    from fsrs import Scheduler

# From worst to best, as the model numbers them from 1.
Rating = Literal["again", "hard", "good", "easy"]
RATINGS: tuple[Rating, ...] = get_args(Rating)
DAY = 24 * 3600.0


@dataclass(frozen=True)
class Review:
    """A kata's place in the schedule. `due` is in seconds since 1970."""

    rating: Rating
    due: float


def rating_of(attempt: Attempt, kata: Kata) -> Rating:
    """Return how well a pass went, by the hints and the time it took.

    Hard: a hint was taken, or it took longer than planned. Again: several
    hints, or more than the cap. Easy: no hint, and half the time planned.
    Where the time is not known, only hints count.
    """
    minutes = None if attempt.worked is None else attempt.worked / 60
    if attempt.hints > 2 or (minutes is not None and minutes > kata.cap_minutes):
        return "again"
    if attempt.hints or (minutes is not None and minutes > kata.minutes):
        return "hard"
    if minutes is not None and minutes <= kata.minutes / 2:
        return "easy"
    return "good"


def counts(attempt: Attempt, kata: Kata, *, first: bool) -> bool:
    """Tell whether an attempt is a review: a first pass, or one that began from the stub."""
    if kata.slip:
        return False
    return attempt.status == "passed" and (first or attempt.worked is not None)


def review(history: History, slug: str, rating: Rating, at: float) -> Review:
    """Note a review of a kata, and return when it is due again."""
    known = history.cards().get(slug)
    before = json.loads(known[1])["card"] if known else None
    return _noted(history, slug, rating, at, before)


def reviewed(history: History, slug: str) -> float:
    """Return when a kata was reviewed last, in seconds since 1970; 0 where it never was."""
    known = history.cards().get(slug)
    return float(json.loads(known[1])["at"]) if known else 0.0


def rate_again(history: History, slug: str, rating: Rating) -> Review:
    """Rate the last review of a kata otherwise; UsageError where there was none."""
    known = history.cards().get(slug)
    if known is None:
        raise UsageError(f"{slug} was not passed yet, so there is no rating to change")
    data = json.loads(known[1])
    return _noted(history, slug, rating, float(data["at"]), data["before"])


def rating_now(card: str) -> Rating:
    """Return the rating of the last review, of a card as the history holds it."""
    return json.loads(card)["rating"]


def _noted(
    history: History, slug: str, rating: Rating, at: float, before: dict[str, Any] | None
) -> Review:
    import fsrs

    when = datetime.fromtimestamp(at, tz=timezone.utc)
    card = fsrs.Card.from_dict(before) if before else fsrs.Card(card_id=1, due=when)  # type: ignore[arg-type]
    if before and card.last_review and card.last_review > when:
        when = card.last_review  # the clock was set back
    score = fsrs.Rating(RATINGS.index(rating) + 1)
    card, _ = _scheduler().review_card(card, score, when)
    due = max(card.due.timestamp(), at + DAY)
    kept = {"card": card.to_dict(), "before": before, "at": at, "rating": rating}
    history.set_card(slug, due, json.dumps(kept))
    return Review(rating, due)


def _scheduler() -> Scheduler:
    import fsrs

    # Days, not minutes: nobody writes the same layer twice within ten minutes.
    return fsrs.Scheduler(learning_steps=(), relearning_steps=(), enable_fuzzing=False)
