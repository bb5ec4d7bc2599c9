"""Ask a process that has torch to follow the solution through a case."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from grader.catalog import Entry
from grader.errors import HistoryError
from grader.model import Recipe, Shape

# Seconds. Loading torch takes one or two; the case itself is small.
LIMIT = 60


@dataclass(frozen=True)
class Made:
    """A tensor of the solution: its values in words as nested lists, None where they are many."""

    name: str
    shape: Shape
    values: Any | None


@dataclass(frozen=True)
class Step:
    """A step of the solution, as the stub lists them; number 0 is what goes in."""

    function: str
    number: int
    text: str
    tensors: Sequence[Made]


def follow(entry: Entry, recipe: Recipe) -> list[Step]:
    """Return what each step of the solution makes of a recipe's case; HistoryError if it fails."""
    asked = {"number": entry.number, "stem": entry.stem, "recipe": dict(recipe)}
    try:
        done = subprocess.run(
            [sys.executable, "-m", "grader.engine.stepping"],
            input=json.dumps(asked),
            cwd=entry.root,
            capture_output=True,
            encoding="utf-8",
            timeout=LIMIT,
            check=True,
        )
        steps = json.loads(done.stdout)["steps"]
    except (OSError, subprocess.SubprocessError, ValueError, KeyError) as error:
        raise HistoryError(f"the case cannot be followed: {type(error).__name__}") from error
    return [
        Step(
            step["function"],
            step["step"],
            step["text"],
            [Made(name, tuple(shape), values) for name, shape, values in step["tensors"]],
        )
        for step in steps
    ]
