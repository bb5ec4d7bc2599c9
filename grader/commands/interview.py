"""`interview`: a timed mock interview, one command at a time.

`start`, `status`, `check`, `next`, `hint` and `finish` work in any terminal and
in scripts. Nothing has to run between them: the clock is the wall's.
"""

from __future__ import annotations

import secrets
import sys
from collections.abc import Sequence
from pathlib import Path

from grader.catalog import Entry, find, katas, written
from grader.commands.asking import agreed, answered, screen
from grader.commands.parsing import Parser, parser, read, whole
from grader.errors import UsageError
from grader.practice.clock import now
from grader.practice.conducting import Conductor, tests_of
from grader.practice.hints import ladder
from grader.practice.history import History
from grader.practice.interviews import FORMATS, LONGEST, SHORTEST, Round, plan, running, save
from grader.practice.scoring import total
from grader.resetting import replace
from grader.views.scorecard import page, show_card
from grader.views.screen import Screen
from grader.views.terminal import show_symptom
from grader.views.times import clock, date, span

STEPS = ("start", "status", "check", "next", "hint", "finish")
NAMES = {"build": "build", "debug": "find the bugs", "questions": "follow-up questions"}


def run(argv: Sequence[str]) -> int:
    """Do one step of the interview, and say what comes next."""
    options = read(_parser(), argv)
    out = screen(options)
    history = History()
    interview = running(history)
    step = options.step or ("status" if interview else "start")
    if options.resume or options.abandon:
        if options.step or (options.resume and options.abandon):
            raise UsageError("--resume and --abandon stand alone, and one at a time")
        step = "status" if options.resume else "abandon"
    if step != "start" and (options.minutes or options.katas or options.format):
        raise UsageError("--format, --minutes and --katas belong to interview start")
    if step == "start":
        chosen = _chosen(options.katas)
        minutes = None if options.minutes is None else _minutes(options.minutes)
        seed = secrets.randbelow(10_000) if options.seed is None else options.seed
        planned = plan(options.format or FORMATS[0], minutes, chosen, katas(), seed)
        conductor = Conductor(history, save(history, planned), katas())
        conductor.begin_round()
        return _status(out, conductor)
    if interview is None:
        raise UsageError("no interview is running: python -m grader interview start begins one")
    conductor = Conductor(history, interview, katas())
    if step == "abandon":
        if not options.yes and not agreed(out, "end the interview without a score?"):
            out.line("it goes on")
            return 1
        conductor.abandon()
        out.line(f"the interview is over, without a score; its files stay in {_folder(conductor)}")
        return 0
    told = conductor.look()
    if told:
        out.line(told)
    _note_clock(out, conductor)
    if conductor.over():
        out.line("the time is up" if conductor.round else "all rounds are done")
        return _finish(out, conductor)
    conductor.begin_round()
    steps = {"status": _status, "check": _check, "next": _next, "hint": _hint, "finish": _finish}
    return steps[step](out, conductor)


def _parser() -> Parser:
    asks = parser("interview", "A timed mock interview: build, debug, and follow-up questions.")
    add = asks.add_argument
    add("step", nargs="?", default="", choices=("", *STEPS), metavar="STEP", help=", ".join(STEPS))
    add("--format", choices=FORMATS, help="screen 30 min, onsite 60, debug 25 (default screen)")
    add("--minutes", metavar="N", help="another length")
    add("--katas", default="", metavar="A,B", help="which katas, in this order")
    add("--seed", type=whole, metavar="N", help="the same choices each time")
    add("--resume", action="store_true", help="go on with the one that runs")
    add("--abandon", action="store_true", help="end it without a score")
    add("--yes", action="store_true", help="do not ask")
    return asks


def _chosen(words: str) -> tuple[Entry, ...]:
    names = [name for name in words.replace(",", " ").split() if name]
    found = tuple(find(name) for name in names)
    if len(set(found)) < len(found):
        raise UsageError("--katas names a kata twice")
    return found


def _minutes(text: str) -> float:
    try:
        minutes = float(text)
    except ValueError:
        raise UsageError(f"--minutes {text!r} is not a number") from None
    if not SHORTEST <= minutes <= LONGEST:  # NaN neither
        raise UsageError(f"--minutes {text} is not between {SHORTEST:g} and {LONGEST:g}")
    return minutes


def _note_clock(out: Screen, conductor: Conductor) -> None:
    back = conductor.interview.seen - now()
    if back > 60:
        out.line(f"the clock was set back by {span(back)}; the interview's goes on from before")
    conductor.interview = save(conductor.history, conductor.interview)


# --- steps ------------------------------------------------------------------------


def _status(out: Screen, conductor: Conductor) -> int:
    interview, found = conductor.interview, conductor.round
    left = clock(interview.left(now()))
    if found is None:
        out.line("all rounds are done")
        out.rows([("next", "python -m grader interview finish")])
        return 0
    entry = conductor.entry(found)
    number = f"round {interview.index + 1} of {len(interview.rounds)}"
    out.line(f"{left} left · {number}: {NAMES[found.kind]}", "bold")
    rows = [("kata", f"{entry.name} · {entry.load_spec().title}")]
    if found.kind == "questions":
        rows += [("asked", f"question {len(found.answers) + 1} of {len(found.asked)}")]
        rows += [("then", "python -m grader interview next asks it")]
    else:
        path = Path(found.file)
        rows.append(("open", written(path)))
        if found.kind == "build":
            rows.append(("tests", f"{written(tests_of(path))}, for tests of your own"))
        else:
            rows.append(("planted", f"{len(found.bugs)} bugs"))
        rows += [("then", "python -m grader interview check, and next when you are done")]
    out.rows(rows)
    return 0


def _check(out: Screen, conductor: Conductor) -> int:
    found = conductor.round
    if found is None or found.kind == "questions":
        raise UsageError("nothing is graded in this round: python -m grader interview next")
    verdict = conductor.check()
    found = conductor.round or found
    left = clock(conductor.interview.left(now()))
    if verdict.status == "passed":
        out.line(f"PASS  {left} left", "bold")
        out.rows([("next", "python -m grader interview next")])
        return 0
    mended = "" if found.mended is None else f" · {found.mended} of {len(found.bugs)} mended"
    out.line(f"{verdict.status.upper().replace('_', ' ')}  {left} left{mended}", "bold")
    # What fails, and never why: that is what the interview is about.
    show_symptom(out, verdict)
    return {"failed": 1, "not_started": 3, "not_loadable": 3, "grader_error": 70}.get(
        verdict.status, 4
    )


def _next(out: Screen, conductor: Conductor) -> int:
    found = conductor.round
    if found is not None and found.kind == "questions" and len(found.answers) < len(found.asked):
        return _ask(out, conductor, found)
    out.line("grading the round")
    conductor.close_round()
    if conductor.round is None:
        return _finish(out, conductor)
    conductor.begin_round()
    return _status(out, conductor)


def _ask(out: Screen, conductor: Conductor, found: Round) -> int:
    """Ask one question, show its key points, and have the answer rated."""
    question = conductor.entry(found).load_spec().questions[found.asked[len(found.answers)]]
    text = answered(out, f"{question.ask}\nType your answer, or say it aloud and press Enter.")
    out.line("What a good answer mentions:")
    for number, point in enumerate(question.points, 1):
        out.line(f"  {number}. {point}")
    points = _points(
        answered(out, "Which of these did you name? Numbers, or nothing."), question.points
    )
    if conductor.over():
        out.line("the time is up; this answer came too late")
        return _finish(out, conductor)
    conductor.answer(text, points)
    done = conductor.round
    if done is not None and len(done.answers) >= len(done.asked):
        conductor.close_round()
    if conductor.round is None:
        return _finish(out, conductor)
    return _status(out, conductor)


def _points(typed: str, points: Sequence[str]) -> tuple[int, ...]:
    words = typed.replace(",", " ").split()
    known = {int(word) for word in words if word.isascii() and word.isdigit()}
    return tuple(sorted(known & set(range(1, len(points) + 1))))


def _hint(out: Screen, conductor: Conductor) -> int:
    from dataclasses import replace as changed

    found = conductor.round
    if found is None or found.kind == "questions":
        raise UsageError("there are no hints in this round")
    rungs = ladder(conductor.entry(found), None)
    if found.hints >= len(rungs):
        out.line("there are no more hints" if rungs else "there is no hint")
        return 0
    conductor.change(changed(found, hints=found.hints + 1))
    rung = rungs[found.hints]
    out.line(f"hint {found.hints + 1} of {len(rungs)}: {rung.title}; it costs points", "bold")
    out.line(rung.text)
    return 0


def _finish(out: Screen, conductor: Conductor) -> int:
    conductor.finish()
    interview = conductor.interview
    points, of = total(interview.card)
    summary = f"{points:g} of {of:g} points · {interview.format}, {interview.minutes:g} minutes"
    rounds = [_told(conductor, number, each) for number, each in enumerate(interview.rounds, 1)]
    show_card(out, interview.card, rounds, summary)
    path = conductor.folder() / "scorecard.html"
    title = f"Mock interview of {date(interview.at)}"
    try:
        replace(path, page(interview.card, rounds, title, summary))
        out.rows([("page", written(path))])
    except OSError as error:
        sys.stderr.write(f"{path} cannot be written: {error.strerror}\n")
    return 0


def _told(conductor: Conductor, number: int, found: Round) -> tuple[str, str]:
    entry = conductor.entry(found)
    words = [f"{NAMES[found.kind]}, {entry.name}"]
    if found.started is None:
        return f"round {number}", f"{words[0]}: it did not come to that"
    for name, at in (("first run", found.first), ("passed", found.passed)):
        if at is not None:
            words.append(f"{name} after {span(at - found.started)}")
    if found.kind == "questions":
        words.append(f"{len(found.answers)} of {len(found.asked)} answered")
    else:
        words.append(f"{found.checks} gradings")
        says = {bug.id: bug.says for bug in entry.load_spec().bugs}
        named = dict.fromkeys([*found.bugs, *found.met])
        words += [f"{name}: {says[name]}" for name in named if name in says]
    return f"round {number}", "\n".join(words)


def _folder(conductor: Conductor) -> str:
    return written(conductor.folder())
