"""`interview`: a timed mock interview, on a screen with its clock or a command at a time.

The commands work in any terminal and in scripts. Nothing has to run between
them: the clock is the wall's.
"""

from __future__ import annotations

import argparse
import secrets
import sys
from collections.abc import Sequence

from grader.catalog import Entry, find, katas, written
from grader.commands.asking import agreed, screen
from grader.commands.interviewing import STEPS, Front, begin, take
from grader.commands.parsing import Parser, parser, read, whole
from grader.commands.scorecard import show_scorecard
from grader.errors import UsageError
from grader.keyboard import has_keys
from grader.practice.conducting import Conductor
from grader.practice.history import History
from grader.practice.interviews import (
    FORMATS,
    LONGEST,
    SHORTEST,
    Interview,
    last_finished,
    plan,
    running,
)
from grader.practice.interviews import begin as begin_interview
from grader.views.screen import Screen

WORDS = ("start", *STEPS, "scorecard")


def run(argv: Sequence[str]) -> int:
    """Do one step of the interview and say what comes next, or open its screen."""
    options = read(_parser(), argv)
    out = screen(options)
    history = History()
    if options.step == "scorecard":
        return _scorecard(out, history)
    interview = running(history)
    # Words that begin one say what is meant, and that another one runs is then told.
    step = options.step or ("status" if interview and not _begins(options) else "start")
    if options.resume or options.abandon:
        if options.step or (options.resume and options.abandon):
            raise UsageError("--resume and --abandon stand alone, and one at a time")
        step = "abandon" if options.abandon else "status"
    _refuse(options, step)
    if step == "start":
        conductor = _started(history, options)
    elif interview is None:
        raise UsageError("no interview is running: python -m grader interview start begins one")
    else:
        conductor = Conductor(history, interview, katas())
    if step == "abandon":
        return _abandon(out, conductor, sure=options.yes)
    # With a step of its own it is a command, whatever the terminal could show.
    if options.step in ("", "start") and _live(out, asked=options.live):
        from grader.commands.live import conduct

        return conduct(out, conductor)
    front = Front(out)
    if step == "start":
        begin(front, conductor)
    return take(front, conductor, "status" if step == "start" else step)


def _parser() -> Parser:
    asks = parser("interview", "A timed mock interview: build, debug, and follow-up questions.")
    add = asks.add_argument
    add("step", nargs="?", default="", choices=("", *WORDS), metavar="STEP", help=", ".join(WORDS))
    add("--format", choices=FORMATS, help="screen 30 min, onsite 60, debug 25 (default screen)")
    add("--minutes", metavar="N", help="another length")
    add("--katas", default="", metavar="A,B", help="which katas, in this order")
    add("--seed", type=whole, metavar="N", help="the same choices each time")
    add("--resume", action="store_true", help="go on with the one that runs")
    add("--abandon", action="store_true", help="end it without a score")
    add("--yes", action="store_true", help="do not ask")
    add(
        "--live",
        action=argparse.BooleanOptionalAction,
        help="a screen with the clock and keys (default: in a terminal)",
    )
    return asks


def _refuse(options: argparse.Namespace, step: str) -> None:
    """Raise UsageError for words that do not go together."""
    if step != "start" and _begins(options):
        raise UsageError("--format, --minutes, --katas and --seed belong to interview start")
    if options.live and options.step not in ("", "start"):
        raise UsageError("--live goes with start and --resume: on the screen, steps are keys")


def _begins(options: argparse.Namespace) -> bool:
    return bool(options.minutes or options.katas or options.format or options.seed is not None)


def _started(history: History, options: argparse.Namespace) -> Conductor:
    chosen = _chosen(options.katas)
    minutes = None if options.minutes is None else _minutes(options.minutes)
    seed = secrets.randbelow(10_000) if options.seed is None else options.seed
    planned = plan(options.format or FORMATS[0], minutes, chosen, katas(), seed)
    return Conductor(history, begin_interview(history, planned), katas())


def _chosen(words: str) -> tuple[Entry, ...]:
    names = [name for name in words.replace(",", " ").split() if name]
    if words and not names:
        raise UsageError(f"--katas {words!r} names no kata")
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


def _live(out: Screen, *, asked: bool | None) -> bool:
    """Tell whether the live screen is wanted and possible."""
    possible = out.moves and has_keys()
    if asked and not possible:
        sys.stderr.write("there is no terminal for the live screen: each step is a command\n")
    return possible if asked is None else asked and possible


def _abandon(out: Screen, conductor: Conductor, *, sure: bool) -> int:
    if not sure and not agreed(out, "end the interview without a score?"):
        out.line("it goes on")
        return 1
    conductor.abandon()
    folder = written(conductor.folder())
    out.line(f"the interview is over, without a score; its files stay in {folder}")
    return 0


def _scorecard(out: Screen, history: History) -> int:
    found: Interview | None = last_finished(history)
    if found is None:
        raise UsageError("no interview was finished yet: python -m grader interview start")
    show_scorecard(out, found)
    return 0
