"""What all commands do alike with the words they are given."""

from __future__ import annotations

import argparse
import difflib
from collections.abc import Sequence

from grader.errors import UsageError
from grader.parsing import Parser


def parser(verb: str, description: str) -> Parser:
    """Return the parser of one command, with the options that all of them take."""
    made = Parser(prog=f"python -m grader {verb}", description=description, allow_abbrev=False)
    made.add_argument("--plain", action="store_true", help="ASCII only, no colour")
    made.add_argument("--no-color", action="store_true", help="no colour (so does NO_COLOR)")
    return made


def read(parser: argparse.ArgumentParser, argv: Sequence[str]) -> argparse.Namespace:
    """Return what was asked for; UsageError with the nearest option for an unknown one."""
    found, unknown = parser.parse_known_intermixed_args(list(argv))
    if unknown:
        word = unknown[0].partition("=")[0]
        if not word.startswith("-"):
            raise UsageError(f"{word!r} is one word too many; see {parser.prog} --help")
        known = [text for action in parser._actions for text in action.option_strings]  # noqa: SLF001
        near = difflib.get_close_matches(word, known, n=1)
        hint = f"did you mean {near[0]}?" if near else f"see {parser.prog} --help"
        raise UsageError(f"there is no option {word}; {hint}")
    return found


def whole(text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None
    if number < 0:
        raise argparse.ArgumentTypeError(f"{text} is below 0")
    if number >= 2**63:
        raise argparse.ArgumentTypeError(f"{text} is too large")
    return number


def positive(text: str) -> int:
    number = whole(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not 1 or more")
    return number
