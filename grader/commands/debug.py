"""`debug`: a solution with bugs planted, to be found and mended."""

from __future__ import annotations

import secrets
from collections.abc import Sequence

from grader.catalog import Entry, written
from grader.commands.asking import agreed, chosen, screen
from grader.commands.parsing import parser, positive, read, whole
from grader.errors import UsageError
from grader.isolation import reading
from grader.model import Verdict
from grader.practice import rounds
from grader.practice.clock import now
from grader.practice.history import History
from grader.practice.judging import Judge
from grader.practice.planting import BUGS, MOST_BUGS, left, plant_some
from grader.resetting import back_up, replace
from grader.views.screen import Screen
from grader.views.terminal import show_symptom
from grader.views.times import span

# Exit codes, as for a kata: failed, and not loadable.
FAILED, NOT_LOADABLE = 1, 3


def run(argv: Sequence[str]) -> int:
    """Begin a round, grade its mend, or say what was planted."""
    asks = parser("debug", "Find and mend bugs that were planted in a solution.")
    asks.add_argument("kata", nargs="?", default="", help="which kata")
    asks.add_argument("--bugs", type=positive, metavar="N", help=f"how many (default {BUGS})")
    asks.add_argument("--seed", type=whole, metavar="N", help="the same bugs each time")
    asks.add_argument("--check", action="store_true", help="grade the mend")
    asks.add_argument("--reveal", action="store_true", help="give up: say what was planted")
    asks.add_argument("--yes", action="store_true", help="do not ask")
    options = read(asks, argv)
    entry = chosen(options.kata, "debug")
    if entry.load_spec().slip:
        raise UsageError(f"{entry.name} holds a bug as it is: debug is for the other katas")
    if options.check and options.reveal:
        raise UsageError("--check and --reveal are two things: one at a time")
    if (options.check or options.reveal) and (options.bugs or options.seed is not None):
        raise UsageError("--bugs and --seed begin a round: python -m grader debug kata3 --bugs 2")
    out = screen(options)
    history = History()
    if options.check or options.reveal:
        found = rounds.latest(history, entry)
        if found is None:
            raise UsageError(f"no round is open: python -m grader debug {entry.name} begins one")
        answer = _check if options.check else _reveal
        return answer(out, history, entry, found)
    count = options.bugs or BUGS
    if count > MOST_BUGS:
        raise UsageError(f"--bugs {count} is too many: at most {MOST_BUGS} can be told apart")
    seed = secrets.randbelow(10_000) if options.seed is None else options.seed
    return _begin(out, history, entry, count, seed, sure=options.yes)


def _begin(
    out: Screen, history: History, entry: Entry, count: int, seed: int, *, sure: bool
) -> int:
    path = rounds.place(entry)
    before = rounds.latest(history, entry)
    if before is not None and before.ended is None and path.exists() and not sure:
        question = f"a round is open in {written(path)}. Begin another? A copy of it is kept."
        if not agreed(out, question):
            out.rows([("check", f"python -m grader debug {entry.name} --check")])
            return FAILED
    out.line("planting bugs, and making sure that they show")
    with Judge() as judge:
        solution = entry.solution_path.read_text(encoding="utf-8")
        shown = written(path)
        planted = plant_some(
            entry.load_spec(),
            solution,
            count,
            seed,
            lambda source, bugs: judge.grade(entry, source, shown, bugs),
        )
    try:
        kept = back_up(entry.root, path) if path.exists() else None
        replace(path, planted.source)
    except OSError as error:
        raise UsageError(f"{error.filename or path} cannot be written: {error.strerror}") from error
    rounds.begin(history, entry, seed, planted.bugs)
    bugs = "1 bug was" if count == 1 else f"{count} bugs were"
    out.line(f"{entry.name} · {entry.load_spec().title}: {bugs} planted, seed {seed}", "bold")
    rows = [("kept", written(kept))] if kept else []
    out.rows([*rows, ("open", shown), ("then", f"python -m grader debug {entry.name} --check")])
    return 0


def _check(out: Screen, history: History, entry: Entry, found: rounds.Round) -> int:
    path = rounds.place(entry)
    shown = written(path)
    again = ("then", f"python -m grader debug {entry.name} --check")
    file = reading.read(entry, path, shown)
    if isinstance(file, Verdict):
        told = [check.message for check in file.checks if check.message]
        out.line(told[0] if told else f"{shown} is an untouched stub")
        out.rows([again])
        return NOT_LOADABLE
    with Judge() as judge:
        verdict = judge.grade(entry, file, shown, found.bugs)
    if verdict.status == "grader_error":
        show_symptom(out, verdict)
        return 70
    remaining = left(found.bugs, verdict)
    mended = None if remaining is None else len(found.bugs) - remaining
    over = verdict.status == "passed"
    if found.ended is None:
        rounds.checked(history, found, mended, over=over)
    total = len(found.bugs)
    if over:
        took = span(max(0.0, (found.ended or now()) - found.at))
        out.line(f"PASS  all {total} mended in {took}" if total > 1 else f"PASS  mended in {took}")
        out.rows([("were", "\n".join(_said(entry, found)))])
        return 0
    words = "how many are mended cannot be told: the code does something else as well"
    if mended is not None:
        words = f"{mended} of {total} mended"
    out.line(f"FAIL  {words}", "bold")
    show_symptom(out, verdict)
    out.rows([again, ("give up", f"python -m grader debug {entry.name} --reveal")])
    return FAILED


def _reveal(out: Screen, history: History, entry: Entry, found: rounds.Round) -> int:
    if found.ended is None:
        rounds.close(history, found)
    out.line(f"{entry.name}, seed {found.seed}: what was planted")
    out.rows([("", line) for line in _said(entry, found)])
    return 0


def _said(entry: Entry, found: rounds.Round) -> list[str]:
    says = {bug.id: bug.says for bug in entry.load_spec().bugs}
    return [f"{name}: {says.get(name, 'no longer known')}" for name in found.bugs]
