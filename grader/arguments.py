"""What may stand on the command line."""

from __future__ import annotations

import argparse
import difflib
import math
from collections.abc import Sequence
from dataclasses import dataclass

from grader import __version__
from grader.errors import UsageError
from grader.parsing import Parser

VERBS = ("all", "list", "watch", "doctor", "dev")

DESCRIPTION = "Grade hand-written parts of a Transformer: say what is wrong, and which bug it is."

EPILOG = """\
commands:
  python -m grader                    where you are, and the one next command
  python -m grader kata3 [kata4 ...]  grade what you wrote
  python -m grader all                grade everything
  python -m grader watch [kata3 ...]  grade on every save
  python -m grader list               all katas
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


def parse(argv: Sequence[str]) -> Options:
    """Return what was asked for; raises UsageError, and SystemExit after --help or help."""
    if argv[:1] == ["help"]:
        argv = ["--help"]
    parser = _parser()
    found, unknown = parser.parse_known_intermixed_args(list(argv))
    if unknown:
        word = unknown[0].partition("=")[0]
        known = [text for action in parser._actions for text in action.option_strings]  # noqa: SLF001
        near = difflib.get_close_matches(word, known, n=1)
        hint = f"did you mean {near[0]}?" if near else "see python -m grader --help"
        raise UsageError(f"there is no option {word}; {hint}")
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
    add("--examples", type=_positive, metavar="N", help="examples to try for each check")
    add("--seed", type=_whole, default=0, metavar="N", help="draw other examples (default 0)")
    add(
        "--timeout",
        type=_seconds,
        default=20.0,
        metavar="SECONDS",
        help="limit for one kata (default 20)",
    )
    add("--jobs", type=_positive, metavar="N", help="gradings at a time (default: one a core)")
    add(
        "--poll", action="store_true", help="watch: look at the files instead of waiting for events"
    )
    add("--version", action="version", version=f"grader {__version__}")
    return parser


def _whole(text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None
    if number < 0:
        raise argparse.ArgumentTypeError(f"{text} is below 0")
    if number >= 2**63:
        raise argparse.ArgumentTypeError(f"{text} is too large")
    return number


def _positive(text: str) -> int:
    number = _whole(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not 1 or more")
    return number


def _seconds(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 < number < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds above 0")
    return number
