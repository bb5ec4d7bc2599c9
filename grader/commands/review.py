"""`review`: what is due today, started from its stub; and ratings to change."""

from __future__ import annotations

from collections.abc import Sequence

from grader.catalog import Entry, written
from grader.commands.asking import agreed, chosen, screen
from grader.commands.parsing import parser, read
from grader.errors import UsageError
from grader.isolation.reading import state
from grader.model import Verdict
from grader.practice import schedule
from grader.practice.clock import now
from grader.practice.history import History
from grader.practice.progress import due_now, progress
from grader.resetting import reset
from grader.stubs import LEVELS, Level
from grader.views.screen import Screen
from grader.views.times import when

NOTHING_DONE = 1


def run(argv: Sequence[str]) -> int:
    """Start the kata that has been due the longest, or the one named; or rate it anew."""
    asks = parser("review", "Start what is due: its file becomes the stub, and a copy is kept.")
    asks.add_argument("kata", nargs="?", default="", help="which kata; else the longest overdue")
    asks.add_argument("--rate", choices=schedule.RATINGS, help="how the last review went")
    asks.add_argument("--level", choices=LEVELS, default="blank", help="blank: without steps")
    asks.add_argument("--yes", action="store_true", help="do not ask")
    options = read(asks, argv)
    out = screen(options)
    history = History()
    if options.rate:
        if not options.kata:
            raise UsageError("which kata? python -m grader review kata3 --rate good")
        entry = chosen(options.kata, "review")
        if entry.load_spec().slip:
            raise UsageError(f"{entry.name} is a warm-up, which never comes back: no need to rate")
        found = schedule.rate_again(history, entry.slug, options.rate)
        out.line(f"{entry.name} is rated {found.rating} and {when(found.due, now())}")
        return 0
    standing = progress(now(), history)
    if standing.fault:
        raise UsageError(standing.fault)
    due = [each.entry for each in due_now(standing.standings, now())]
    if options.kata:
        due.insert(0, chosen(options.kata, "review"))
    if not due:
        later = [each for each in standing.standings if each.due is not None]
        following = min(later, key=lambda each: each.due or 0.0, default=None)
        out.line("nothing is due today")
        if following is not None:
            out.rows([("then", f"{following.entry.name}, {when(following.due or 0.0, now())}")])
        return 0
    return _start(out, history, list(dict.fromkeys(due)), options.level, sure=options.yes)


def _start(out: Screen, history: History, due: Sequence[Entry], level: Level, *, sure: bool) -> int:
    entry, *others = due
    title = f"{entry.name} · {entry.load_spec().title}"
    file = written(entry.stub_path)
    if state(entry) == "started" and not sure:
        question = f"{title}: {file} becomes the stub again, a copy of yours is kept. Go on?"
        if not agreed(out, question):
            out.line("nothing was changed")
            return NOTHING_DONE
    kept = reset(entry, level)
    # The time runs from here.
    history.record(Verdict(entry.id, entry.slug, "not_started", 0.0, 0.0), b"", "review")
    out.line(title, "bold")
    rows = [("kept", written(kept))] if kept else []
    rows += [("open", file), ("then", f"python -m grader {entry.name}")]
    more = [each.name for each in others]
    rows += [("also due", ", ".join(more))] if more else []
    out.rows(rows)
    return 0
