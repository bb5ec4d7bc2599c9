"""`why`: all that is known of the last failure."""

from __future__ import annotations

from collections.abc import Sequence

from grader.commands.asking import chosen, screen
from grader.commands.parsing import parser, read
from grader.errors import HistoryError
from grader.isolation.following import follow
from grader.isolation.reading import contents
from grader.practice.clock import now
from grader.practice.hints import smallest_case
from grader.practice.history import History
from grader.views.diagnosis import show_diagnosis
from grader.views.following import show_weights
from grader.views.times import span


def run(argv: Sequence[str]) -> int:
    """Show every failing check of the last attempt, and attention weights where there are any."""
    asks = parser("why", "Show the full diagnosis of the last failure.")
    asks.add_argument("kata", nargs="?", default="", help="which kata")
    options = read(asks, argv)
    entry = chosen(options.kata, "why")
    out = screen(options)
    latest = History().latest(entry.slug)
    again = [("next", f"python -m grader {entry.name}")]
    if latest is None:
        out.line(f"no attempt at {entry.name} is recorded yet")
        out.rows(again)
        return 0
    attempt, verdict, source = latest
    if attempt.status == "passed":
        out.line(f"the last attempt at {entry.name} passed: nothing failed")
        return 0
    if verdict is None:
        out.line("the last failure is no longer known in full; grade it again")
        out.rows(again)
        return 0
    age = f"{span(max(0.0, now() - attempt.at))} ago"
    show_diagnosis(out, verdict, entry.load_spec().title, age)
    case = smallest_case(verdict)
    if case is not None and "weights" in entry.solution_path.read_text(encoding="utf-8"):
        try:
            steps = follow(entry, case)
        except HistoryError as error:
            out.line(str(error))
        else:
            out.line()
            out.line("attention as it should be in the first case above")
            show_weights(out, steps)
    try:
        changed = contents(entry.stub_path) != source
    except OSError:
        changed = True
    if changed:
        out.line("the file was changed since")
    out.rows(again)
    return 0
