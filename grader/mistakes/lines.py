"""The lines of the attention solutions that mistakes are planted in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from grader.patching import NEGATIVE_INFINITY

Edits = list[tuple[str, str]]

PRODUCTS = "q @ k.transpose(-2, -1)"
SCORES = f"scores = {PRODUCTS} / math.sqrt(self.head_dim)"
WEIGHTS = "weights = torch.softmax(scores, dim=-1)"
CONTEXT = "context = weights @ v"
MERGE = "context = context.transpose(1, 2).reshape(batch, length, d_model)"
RETURN = "return self.out_proj(context)"
UNEVEN = "if d_model % num_heads != 0:"
HEAD_DIM = "self.head_dim = d_model // num_heads"
SUPER = "super().__init__()"


@dataclass(frozen=True)
class Mask:
    """A mask as the solution applies it: the argument `name`, viewed as `view` on the scores."""

    name: str
    view: str

    @property
    def guard(self) -> str:
        return f"if {self.name} is not None:"

    @property
    def fill(self) -> str:
        return self.filled(NEGATIVE_INFINITY)

    def filled(self, value: str) -> str:
        return f"scores = scores.masked_fill(~{self.view}, {value})"


@dataclass(frozen=True)
class Head:
    """A tensor that is projected and split into heads: `q` of `x`, with `length` tokens."""

    name: str
    source: str = "x"
    length: str = "length"

    @property
    def layer(self) -> str:
        return f"self.{self.name}_proj"

    @property
    def made(self) -> str:
        return f"{self.layer} = nn.Linear(d_model, d_model)"

    @property
    def projected(self) -> str:
        return f"{self.name} = {self.layer}({self.source})"

    @property
    def split(self) -> str:
        return self.splitting(self.name)

    def splitting(self, what: str) -> str:
        return (
            f"{self.name} = {what}.view(batch, {self.length}, self.num_heads, self.head_dim)"
            ".transpose(1, 2)"
        )


def linear(name: str) -> str:
    """Return the line that makes a projection."""
    return f"self.{name} = nn.Linear(d_model, d_model)"


def both_fills(edits: Sequence[tuple[str, str]], masks: Sequence[Mask]) -> list[Edits]:
    """Return the edits as they are, and with every mask filling with -1e9 instead of -inf."""
    claimed = {line for line, _ in edits}
    finite = [(line, by.replace(NEGATIVE_INFINITY, "-1e9")) for line, by in edits]
    finite += [(m.fill, m.filled("-1e9")) for m in masks if m.fill not in claimed]
    return [list(edits), finite]
