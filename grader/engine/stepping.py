"""Follow the solution through one case: `python -m grader.engine.stepping`.

A program of its own, since it loads torch, which the command that asks does
not. It runs the solution only, never an answer. stdin holds {"stem", "recipe"},
stdout gets {"steps": [...]}: for each step of the solution, in the order they
ran, the tensors it made.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from types import FrameType
from typing import Any

from torch import Tensor

from grader.catalog import Entry
from grader.engine.bench import SOLUTION_FILE, Reference
from grader.engine.execution import execute
from grader.model import Recipe

STEP = re.compile(r"\s*# Step (\d+): (.*)")
# Values of more numbers than this are told by their shape alone.
MOST_NUMBERS = 24
# Attention weights are looked at as a picture, which may be larger.
MOST_WEIGHTS = 400


@dataclass
class _Call:
    """One call of a function of the solution: what each of its lines left behind."""

    function: str
    known: dict[str, int] = field(default_factory=dict[str, int])
    line: int = 0
    made: list[tuple[int, str, Tensor]] = field(default_factory=list[tuple[int, str, Tensor]])

    def note(self, frame: FrameType) -> None:
        """Attribute what has changed to the line that just ran."""
        for name, value in frame.f_locals.items():
            if name.startswith("_"):
                continue
            if isinstance(value, Tensor) and self.known.get(name) != id(value):
                self.known[name] = id(value)
                self.made.append((self.line, name, value.detach().clone()))


def trace(entry: Entry, recipe: Recipe) -> list[dict[str, Any]]:
    """Return the steps of the solution on the case of a recipe.

    Each has its function, number and text, and "tensors": name, shape, and the
    values as nested lists, or None where they are many.
    """
    source = entry.solution_path.read_text(encoding="utf-8")
    reference = Reference(entry.load_spec(), source)
    _, case = reference.case(recipe)
    calls: dict[str, _Call] = {}
    with _followed(calls):
        execute(case, replace(reference.solution, kept=None))
    texts = _steps(source)
    found: list[dict[str, Any]] = []
    for call in calls.values():
        for line, name, value in call.made:
            number, text = texts.get(line, (0, "what goes in"))
            if not found or (found[-1]["function"], found[-1]["step"]) != (call.function, number):
                step = {"function": call.function, "step": number, "text": text, "tensors": []}
                found.append(step)
            found[-1]["tensors"].append([name, list(value.shape), _values(name, value)])
    return found


@contextmanager
def _followed(calls: dict[str, _Call]) -> Generator[None]:
    """Note the tensors of every function of the solution, of its last call."""

    def each(frame: FrameType, _event: str, _argument: object) -> Any:
        function = frame.f_code.co_name
        if frame.f_code.co_filename != SOLUTION_FILE or function.startswith("_"):
            return None
        call = calls[function] = _Call(function)

        def local(frame: FrameType, event: str, result: object) -> Any:
            call.note(frame)
            if event == "line":
                call.line = frame.f_lineno
            elif event == "return":
                returned = result if isinstance(result, tuple) else (result,)
                for value in returned:
                    if isinstance(value, Tensor) and id(value) not in call.known.values():
                        call.made.append((call.line, "output", value.detach().clone()))
            return local

        return local

    before = sys.gettrace()
    sys.settrace(each)
    try:
        yield
    finally:
        sys.settrace(before)


def _steps(source: str) -> Mapping[int, tuple[int, str]]:
    """Return the step that each line (from 1) belongs to; a new function begins without one."""
    found: dict[int, tuple[int, str]] = {}
    at: tuple[int, str] | None = None
    for number, line in enumerate(source.splitlines(), 1):
        if re.match(r"\s*(def|class) ", line):
            at = None
        elif step := STEP.match(line):
            at = (int(step[1]), step[2])
        if at is not None:
            found[number] = at
    return found


def _values(name: str, value: Tensor) -> Any:
    if value.numel() > (MOST_WEIGHTS if name == "weights" else MOST_NUMBERS):
        return None
    return _plain(value.tolist())


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(each) for each in value]
    # JSON has no NaN, and more digits than four help nobody.
    return f"{value:.4g}" if isinstance(value, float) else str(int(value))


if __name__ == "__main__":
    asked = json.loads(sys.stdin.read())
    entry = Entry(asked["number"], asked["stem"])
    sys.stdout.write(json.dumps({"steps": trace(entry, asked["recipe"])}))
