"""`solution`: the worked solution as a diff to yours, for who passed or gives up."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Sequence

from grader.catalog import Entry, written
from grader.commands.asking import answered, chosen, screen
from grader.commands.parsing import parser, read
from grader.errors import HistoryError, UsageError
from grader.isolation.reading import contents, unwritten
from grader.practice.hints import SOLUTION
from grader.practice.history import History
from grader.views.difference import show_code, show_difference
from grader.views.screen import Screen
from grader.views.texts import say

WORDS = "give up"
NOTHING_SHOWN = 1


def run(argv: Sequence[str]) -> int:
    """Show the solution; exit code 1 where it was neither earned nor asked for in words."""
    asks = parser("solution", "Show the solution, once you passed or type that you give up.")
    asks.add_argument("kata", nargs="?", default="", help="which kata")
    asks.add_argument("--whole", action="store_true", help="as it is, not as a diff to yours")
    options = read(asks, argv)
    entry = chosen(options.kata, "solution")
    out = screen(options)
    history = History()
    fault = ""
    try:
        if not _earned(history, entry):
            price = "" if entry.load_spec().slip else "; the kata is then due again tomorrow"
            question = (
                f"{entry.name} has not passed yet. python -m grader hint {entry.name} says less. "
                f'Type "{WORDS}" to see the solution{price}.'
            )
            if answered(out, question).lower() != WORDS:
                out.line("nothing was shown")
                return NOTHING_SHOWN
            history.take_hint(entry.slug, SOLUTION)
    except HistoryError as error:
        fault = str(error)
    if fault and answered(out, f'Type "{WORDS}" to see the solution.').lower() != WORDS:
        out.line("nothing was shown")
        return NOTHING_SHOWN
    _show(out, entry, whole=options.whole or not _has_code(entry))
    if fault:
        sys.stderr.write(f"{say(fault)}\n")
    return 0


def _earned(history: History, entry: Entry) -> bool:
    totals = history.totals().get(entry.slug)
    passed = totals is not None and totals.passes > 0
    return passed or SOLUTION in history.hints_taken(entry.slug)


def _has_code(entry: Entry) -> bool:
    """Tell whether there is code to compare: the learner's own, or that of a warm-up."""
    try:
        return not unwritten(entry, contents(entry.stub_path))
    except FileNotFoundError:
        return False
    except OSError:  # something is there, and reading it will say what is wrong
        return True


def _show(out: Screen, entry: Entry, *, whole: bool) -> None:
    solution = entry.solution_path.read_text(encoding="utf-8")
    name = written(entry.solution_path)
    if whole:
        show_code(out, solution)
        out.rows([("file", name)])
        return
    try:
        yours = contents(entry.stub_path).decode("utf-8-sig", errors="replace")
    except OSError as error:
        raise UsageError(f"{written(entry.stub_path)} cannot be read: {error.strerror}") from error
    lines = list(
        difflib.unified_diff(
            yours.splitlines(), solution.splitlines(), written(entry.stub_path), name, lineterm=""
        )
    )
    show_difference(out, lines)
    out.rows([("whole", f"python -m grader solution {entry.name} --whole")])
