"""The commands of practice, one module each, whose `run(words)` returns an exit code."""

from __future__ import annotations

import importlib
from collections.abc import Sequence

# Each is a word on the command line and the module that answers it.
VERBS = ("history", "hint", "why", "solution", "reset", "restore", "review", "debug", "interview")


def run(verb: str, argv: Sequence[str]) -> int:
    """Run a command; only what it needs is imported."""
    module = importlib.import_module(f"grader.commands.{verb}")
    return module.run(argv)
