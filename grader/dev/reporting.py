"""What every authors' command shares: its console, and its exit code for an error."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING

from grader.errors import GraderError
from grader.parsing import Parser

if TYPE_CHECKING:
    from rich.console import Console


def console(*, stderr: bool = False) -> Console:
    """Open a console that prints text as it is: no markup, no colours guessed, no wrapping."""
    from rich.console import Console

    return Console(stderr=stderr, markup=False, emoji=False, highlight=False, soft_wrap=True)


def guarded(run: Callable[[], int]) -> int:
    """Run a command, and turn what it may raise into one line and an exit code."""
    try:
        return run()
    except GraderError as error:
        console(stderr=True).print(str(error))
        return error.exit_code
    except SystemExit as stop:  # after --help
        return stop.code if isinstance(stop.code, int) else 2


def parser(name: str, summary: str) -> argparse.ArgumentParser:
    return Parser(prog=f"python -m grader dev {name}", description=summary)
