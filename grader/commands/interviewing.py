"""The steps of an interview, whether they are typed as commands or pressed as keys."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from grader.catalog import written
from grader.commands import asking
from grader.commands.editing import edit
from grader.commands.scorecard import NAMES, show_scorecard
from grader.errors import HistoryError, UsageError
from grader.model import Verdict
from grader.practice.answers import tests_of
from grader.practice.clock import now
from grader.practice.conducting import Conductor
from grader.practice.hints import ladder
from grader.practice.interviews import Round
from grader.views.screen import Screen
from grader.views.terminal import show_symptom
from grader.views.times import clock, span

# Exit codes of gradings; anything that ended the answer is 4.
CODES = {"passed": 0, "failed": 1, "not_started": 3, "not_loadable": 3, "grader_error": 70}
BROKEN = 4


class Front:
    """Where steps are shown and questions asked: here a command at a time."""

    def __init__(self, out: Screen) -> None:
        self.out = out

    @contextmanager
    def busy(self, words: str) -> Generator[None]:
        """Say what takes a while."""
        with Screen(sys.stderr, plain=self.out.plain).bar(words, ""):
            yield

    def answered(self, question: str) -> str:
        """Ask, and return the line that was typed.

        Ctrl-D leaves the question as Ctrl-C does; only a script may have nothing to say.
        """
        line = asking.typed(self.out, question)
        if line is None and sys.stdin.isatty():
            raise KeyboardInterrupt
        return line or ""

    def edit(self, path: Path, meanwhile: Callable[[], None]) -> None:
        """Open a file in the editor, and wait for it."""
        edit(path, meanwhile)

    def how(self, step: str) -> str:
        """Say how a step is taken."""
        return f"python -m grader interview {step}"

    def show_standing(self, conductor: Conductor) -> None:
        """Print where the interview is, and what comes next."""
        headline, rows = standing(conductor)
        found = conductor.round
        self.out.line(headline, "bold")
        if found is None:
            rows.append(("next", self.how("finish")))
        elif found.kind == "questions":
            rows.append(("then", f"{self.how('next')} asks it"))
        else:
            rows.append(("then", f"{self.how('check')}, and next when you are done"))
        self.out.rows(rows)


def take(front: Front, conductor: Conductor, step: str) -> int:
    """Take one step, or end the interview where its time is up; return the exit code."""
    try:
        told = conductor.look()
        conductor.note_time()
    except HistoryError as error:  # what can be done without it is done
        told = str(error)
    if told:
        front.out.line(told)
    back = conductor.interview.seen - now()
    if back > 60:
        front.out.line(
            f"the clock was set back by {span(back)}; the interview's stays until it catches up"
        )
    if conductor.over():
        front.out.line("the time is up" if conductor.round else "all rounds are done")
        return finish(front, conductor)
    begin(front, conductor)
    return STEPS[step](front, conductor)


def begin(front: Front, conductor: Conductor) -> None:
    """Make ready the round under way, unless it has begun."""
    found = conductor.round
    if found is not None and found.started is None:
        with front.busy("getting the round ready"):
            first = all(each.started is None for each in conductor.interview.rounds)
            (conductor.prepare if first else conductor.begin_round)()


def standing(conductor: Conductor) -> tuple[str, list[tuple[str, str]]]:
    """Return how long is left in which round, and what that round is about."""
    interview, found = conductor.interview, conductor.round
    if found is None:
        return "all rounds are done", []
    entry = conductor.entry(found)
    number = f"round {interview.index + 1} of {len(interview.rounds)}"
    headline = f"{clock(conductor.left())} left · {number}: {NAMES[found.kind]}"
    rows = [("kata", f"{entry.name} · {entry.load_spec().title}")]
    if found.kind == "questions":
        rows.append(("asked", f"question {len(found.answers) + 1} of {len(found.asked)}"))
        return headline, rows
    if not found.file:  # it is being made ready
        return headline, rows
    path = Path(found.file)
    rows.append(("open", written(path)))
    if found.kind == "build":
        rows.append(("tests", f"{written(tests_of(path))}, for tests of your own"))
    else:
        rows.append(("planted", f"{len(found.bugs)} bugs"))
    return headline, rows


# --- steps ------------------------------------------------------------------------


def status(front: Front, conductor: Conductor) -> int:
    """Show where the interview is."""
    front.show_standing(conductor)
    return 0


def check(front: Front, conductor: Conductor) -> int:
    """Grade the answer, and say what fails."""
    _coding(conductor, f"nothing is graded in this round: {front.how('next')}")
    with front.busy("grading"):
        verdict = conductor.grade()
    fault = ""
    try:
        conductor.note(verdict)
    except HistoryError as error:
        fault = f"this attempt was not recorded: {error}"
    code = _show_verdict(front, conductor, verdict)
    if fault:
        front.out.line(fault)
    return code


def _show_verdict(front: Front, conductor: Conductor, verdict: Verdict) -> int:
    left = clock(conductor.left())
    if verdict.status == "passed":
        front.out.line(f"PASS  {left} left", "bold")
        front.out.rows([("next", front.how("next"))])
        return 0
    found = conductor.round
    mended = ""
    if found is not None and found.mended is not None:
        mended = f" · {found.mended} of {len(found.bugs)} mended"
    front.out.line(f"{verdict.status.upper().replace('_', ' ')}  {left} left{mended}", "bold")
    if verdict.status == "not_started":
        front.out.rows([("what", "nothing is written yet")])
    else:  # what fails, and never why: that is what the interview is about
        show_symptom(front.out, verdict)
    return CODES.get(verdict.status, BROKEN)


def following(front: Front, conductor: Conductor) -> int:
    """Ask the next question, or end the round and begin the next."""
    found = conductor.round
    if found is not None and found.kind == "questions" and len(found.answers) < len(found.asked):
        return _ask(front, conductor, found)
    front.out.line("grading the round")
    with front.busy("grading the round"):
        conductor.close_round()
    if conductor.round is None:
        return finish(front, conductor)
    begin(front, conductor)
    return status(front, conductor)


def _ask(front: Front, conductor: Conductor, found: Round) -> int:
    """Ask one question, show its key points, and have the answer rated."""
    question = conductor.entry(found).load_spec().questions[found.asked[len(found.answers)]]
    number = f"question {len(found.answers) + 1} of {len(found.asked)}"
    text = front.answered(
        f"{number}: {question.ask}\nType your answer, or say it aloud and press Enter."
    )
    front.out.line("What a good answer mentions:")
    front.out.rows([(f"  {n}.", point) for n, point in enumerate(question.points, 1)])
    points: tuple[int, ...] = ()
    if not conductor.over():
        ask = "Which of these did you name? Numbers, or nothing."
        typed = front.answered(ask)
        points = _points(typed, question.points)
        while len(points) < len(_words(typed)) and not conductor.over() and sys.stdin.isatty():
            front.out.line(f"{typed!r} is not all numbers from 1 to {len(question.points)}")
            typed = front.answered(ask)
            points = _points(typed, question.points)
    if conductor.over():
        front.out.line("the time is up; this answer came too late")
        return finish(front, conductor)
    conductor.answer(text, points)
    front.out.line(f"kept: {len(points)} of {len(question.points)} points named")
    done = conductor.round
    if done is not None and len(done.answers) >= len(done.asked):
        conductor.close_round()
    if conductor.round is None:
        return finish(front, conductor)
    begin(front, conductor)
    return status(front, conductor)


def _words(typed: str) -> set[str]:
    return set(typed.replace(",", " ").split())


def _points(typed: str, points: Sequence[str]) -> tuple[int, ...]:
    known = {
        int(word) for word in _words(typed) if word.isascii() and word.isdigit() and len(word) < 4
    }
    return tuple(sorted(known & set(range(1, len(points) + 1))))


def hint(front: Front, conductor: Conductor) -> int:
    """Show the next hint of the kata; it costs points."""
    found = _coding(conductor, "there are no hints in this round")
    rungs = ladder(conductor.entry(found), None)
    if found.hints >= len(rungs):
        front.out.line("there are no more hints" if rungs else "there is no hint")
        return 0
    conductor.take_hint()
    rung = rungs[found.hints]
    label = f"hint {found.hints + 1} of {len(rungs)}: {rung.title}; it costs points"
    front.out.line(label, "bold")
    front.out.line(rung.text)
    return 0


def edit_answer(front: Front, conductor: Conductor) -> int:
    """Open the answer in the editor."""
    return _edit(front, conductor, Path(_coding(conductor, "there is no file to edit").file))


def edit_tests(front: Front, conductor: Conductor) -> int:
    """Open the learner's own tests in the editor."""
    found = _coding(conductor, "there is no file to edit")
    if found.kind != "build":
        raise UsageError("tests are written in build rounds")
    return _edit(front, conductor, tests_of(Path(found.file)))


def _edit(front: Front, conductor: Conductor, path: Path) -> int:
    told: list[str] = []

    def look() -> None:
        # Each save in time counts, whatever is saved after the end.
        told.append(conductor.look())

    front.edit(path, look)
    look()
    for words in dict.fromkeys(filter(None, told)):
        front.out.line(words)
    if conductor.over():
        front.out.line("the time is up")
        return finish(front, conductor)
    return status(front, conductor)


def finish(front: Front, conductor: Conductor) -> int:
    """Grade what is there, and show the scorecard."""
    with front.busy("grading"):
        conductor.finish()
    show_scorecard(front.out, conductor.interview)
    return 0


STEPS: dict[str, Callable[[Front, Conductor], int]] = {
    "status": status,
    "check": check,
    "next": following,
    "hint": hint,
    "edit": edit_answer,
    "tests": edit_tests,
    "finish": finish,
}


def _coding(conductor: Conductor, otherwise: str) -> Round:
    found = conductor.round
    if found is None or found.kind == "questions":
        raise UsageError(otherwise)
    return found
