"""What may stand on the command line."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from dataclasses import dataclass

from grader import __version__
from grader.commands import VERBS as COMMANDS
from grader.commands.parsing import positive, read, whole
from grader.errors import UsageError
from grader.parsing import Parser

VERBS = ("all", "list", "watch", "doctor", "dev", *COMMANDS)

DESCRIPTION = "Grade hand-written parts of a Transformer: say what is wrong, and which bug it is."

EPILOG = """\
commands:
  python -m grader                    where you are, and the one next command
  python -m grader kata3 [kata4 ...]  grade what you wrote
  python -m grader all                grade everything
  python -m grader watch [kata3 ...]  grade on every save
  python -m grader list               all katas: state, attempts, best time, when due
  python -m grader hint kata3         a hint, more telling each time
  python -m grader why kata3          the last failure in full
  python -m grader solution kata3     the solution, once you passed or give up
  python -m grader reset kata3        back to the stub; a copy is kept, see restore
  python -m grader debug kata3        find the bugs planted in a solution
  python -m grader interview          a timed mock interview
  python -m grader review             repeat what is due today
  python -m grader history kata3      your attempts: scores, bugs and times
  python -m grader doctor             what works on this machine
  python -m grader dev --help         for authors of katas

A kata is called kata3, 3, by its slug, or by the beginning of its slug.

exit codes:
  0 passed, 1 failed, 2 wrong use, 3 not started or not loadable,
  4 timeout, out of memory or crash, 70 a fault of the grader, 130 interrupted;
  for several katas the most severe one, in the order 70, 130, 4, 1, 3, 0
"""


@dataclass(frozen=True)
class Options:
    """The words of one command line. `names` may be katas or one verb."""

    names: list[str]
    files: list[str]
    json: bool
    plain: bool
    color: bool
    python: bool
    examples: int | None
    seed: int
    timeout: float
    jobs: int | None
    poll: bool
    due: bool


def parse(argv: Sequence[str]) -> Options:
    """Return what was asked for; raises UsageError, and SystemExit after --help or help."""
    if argv[:1] == ["help"]:
        argv = ["--help"]
    parser = _parser()
    found = read(parser, argv)
    if found.json and found.python:
        raise UsageError("--python goes without --json: the record holds the failing case already")
    return Options(
        names=found.names,
        files=found.file,
        json=found.json,
        plain=found.plain,
        color=not found.no_color,
        python=found.python,
        examples=found.examples,
        seed=found.seed,
        timeout=found.timeout,
        jobs=found.jobs,
        poll=found.poll,
        due=found.due,
    )


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="python -m grader",
        usage="python -m grader [KATA ... | all | watch [KATA ...] | list | doctor] [options]",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("names", nargs="*", metavar="KATA", help="which kata, or one of the words above")
    add(
        "--file",
        metavar="PATH",
        action="append",
        default=[],
        help="grade this file as the answer to the one kata named; may be given many times",
    )
    add("--json", action="store_true", help="print the record, for programs")
    add("--python", action="store_true", help="print the smallest failing case as Python")
    add("--plain", action="store_true", help="no signs but ASCII, no colour, nothing that moves")
    add("--no-color", action="store_true", help="no colour (so does NO_COLOR)")
    add("--examples", type=positive, metavar="N", help="examples to try for each check")
    add("--seed", type=whole, default=0, metavar="N", help="draw other examples (default 0)")
    add(
        "--timeout",
        type=_seconds,
        default=20.0,
        metavar="SECONDS",
        help="limit for one kata (default 20)",
    )
    add("--jobs", type=positive, metavar="N", help="gradings at a time (default: one a core)")
    add(
        "--poll", action="store_true", help="watch: look at the files instead of waiting for events"
    )
    add("--due", action="store_true", help="list: only what is to be repeated today")
    add("--version", action="version", version=f"grader {__version__}")
    return parser


def _seconds(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 < number < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds above 0")
    return number
