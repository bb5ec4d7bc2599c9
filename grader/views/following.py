"""The solution's steps on one case: shapes, and the numbers of what is small."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from rich.text import Text

from grader.views.screen import Screen

# Shades for weights from 0 to 1; where they cannot be printed, digits of tenths.
SHADES = " ░▒▓█"


class Made(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def values(self) -> Any | None: ...


class Step(Protocol):
    @property
    def function(self) -> str: ...
    @property
    def number(self) -> int: ...
    @property
    def text(self) -> str: ...
    @property
    def tensors(self) -> Sequence[Made]: ...


def show_steps(screen: Screen, steps: Sequence[Step]) -> None:
    """Print what each step makes of the case; lines of one function stand together."""
    function = ""
    several = len({step.function for step in steps}) > 1
    for step in steps:
        if several and step.function != function:
            function = step.function
            screen.line(f"  in {function}")
        label = f"step {step.number}" if step.number else "in"
        rows = [(label, step.text)] if step.number else []
        for made in step.tensors:
            values = f" = {written(made.values)}" if made.values is not None else ""
            rows.append(("" if rows else label, f"{made.name} {_shape(made.shape)}{values}"))
        screen.rows(rows)


def show_weights(screen: Screen, steps: Sequence[Step]) -> None:
    """Print attention weights as a heat map: rows are queries, columns keys."""
    for step in steps:
        for made in step.tensors:
            if made.name == "weights" and made.values is not None and len(made.shape) > 1:
                screen.line(f"weights {_shape(made.shape)}: a row is a query, a column a key")
                for lead, matrix in matrices(made.values):
                    if lead:
                        screen.line(f"  at {list(lead)}")
                    _heat(screen, matrix)
                return


def matrices(values: Any, lead: tuple[int, ...] = ()) -> list[tuple[tuple[int, ...], Any]]:
    """Return the matrices of nested lists, each with the indices in front of it."""
    if _depth(values) <= 2:
        return [(lead, values if _depth(values) == 2 else [values])]
    return [
        found for number, each in enumerate(values) for found in matrices(each, (*lead, number))
    ]


def written(values: Any) -> str:
    """Write nested lists of words as Python writes lists of numbers."""
    if isinstance(values, list):
        return f"[{', '.join(written(each) for each in values)}]"
    return str(values)


def _heat(screen: Screen, matrix: Sequence[Sequence[str]]) -> None:
    for row in matrix[:20]:
        line = Text("    ")
        for cell in row[:20]:
            weight = min(1.0, max(0.0, float(cell)))
            shade = SHADES[min(len(SHADES) - 1, int(weight * len(SHADES)))]
            block = shade * 2 if screen.unicode else f"{int(weight * 9)} "
            line.append(block, f"rgb({int(40 + 215 * weight)},{int(80 + 100 * weight)},60)")
        numbers = " ".join(f"{float(cell):.2f}" for cell in row[:8])
        fits = len(row) <= 8 and screen.width >= 6 + 2 * len(row) + len(numbers)
        screen.styled(Text.assemble(line, f"  {numbers}" if fits else ""))


def _shape(shape: Sequence[int]) -> str:
    return f"({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''})"


def _depth(values: Any) -> int:
    return 1 + _depth(values[0]) if isinstance(values, list) and values else 0
