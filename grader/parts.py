"""Sublayers that the grader hands to a learner's constructor (kata8)."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from grader.model import Part
from grader.strategies import numbers


class Mixing(nn.Linear):
    """A Linear(D, D) with bias over the features, drawn from `seed`.

    The bias makes it answer zeros with something else than zeros. The weights
    are used as they are: a block that does not hold them as its own leaves
    them on another device, and one that initialises every Linear it finds
    changes what it answers. They have to stay trainable.
    """

    def __init__(self, d_model: int, seed: int = 0) -> None:
        super().__init__(d_model, d_model)
        with torch.no_grad():
            self.weight.copy_(numbers(seed, "part.weight", d_model, d_model, scale=0.5))
            self.bias.copy_(numbers(seed, "part.bias", d_model, scale=0.5))

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002 - as nn.Linear calls it
        if torch.is_grad_enabled() and not self.weight.requires_grad:
            raise RuntimeError("the block freezes its sublayer, whose weights then learn nothing")
        return F.linear(input, self.weight, self.bias)


class Gating(nn.Module):
    """A sublayer with a second input and an option, to see that both are passed on."""

    def forward(self, x: Tensor, other: Tensor, *, strength: float = 1.0) -> Tensor:
        return x * other * strength


class Steering(nn.Module):
    """A sublayer with two further inputs and two options, all of which may be left out."""

    def forward(
        self,
        x: Tensor,
        first: Tensor | None = None,
        second: Tensor | None = None,
        *,
        gain: Tensor | None = None,
        shift: float = 0.0,
    ) -> Tensor:
        mixed = x.sin() + shift
        mixed = mixed if first is None else mixed * first
        mixed = mixed if second is None else mixed + second.cos()
        return mixed if gain is None else mixed * gain


class Moody(nn.Module):
    """A sublayer that behaves otherwise in train and in eval mode, as dropout does."""

    def forward(self, x: Tensor) -> Tensor:
        return x.cos() if self.training else x.sin()


class Counting(nn.Module):
    """A sublayer that answers by how often it was called, and refuses to be copied."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1
        return x.cos() * self.calls

    def __deepcopy__(self, memo: object) -> Counting:
        raise TypeError("the block copies its sublayer, and calls another one than it was handed")


def lifting(x: Tensor) -> Tensor:
    """Answer with 0 in the first two features, and 1 in the others where x is not 0."""
    features = torch.arange(x.shape[-1], device=x.device)
    return ((features > 1) & (x != 0)).to(x.dtype)


def telling(x: Tensor, *others: Any, **options: Any) -> Tensor:
    """Answer by everything that is handed over beside x: its order, names and kinds, None too."""
    told = x.sin()
    # Not the same for all features: a norm takes that away.
    for place, value in enumerate(others, start=2):
        told = told + place * _worth(value) * x.cos()
    for name, value in options.items():
        told = told + zlib.crc32(name.encode()) % 89 / 10 * _worth(value) * x.cos()
    return told


def _worth(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.sin() * 3 if value.dtype is torch.bool else value.cos()
    return zlib.crc32(repr(value).encode()) % 97 / 50


def zeros(x: Tensor) -> Tensor:
    """Return zeros: a block around it is the identity, or its norm."""
    return torch.zeros_like(x)


def doubling(x: Tensor) -> Tensor:
    """Return 2 x: a plain function, not a module."""
    return x * 2


def steering(x: Tensor, *others: Tensor, **options: Any) -> Tensor:
    """Do what Steering does, as a plain function with starred parameters."""
    return Steering()(x, *others, **options)


def itself(x: Tensor) -> Tensor:
    """Return the very tensor that came in, as nn.Identity does."""
    return x


PARTS: dict[str, Callable[..., Any]] = {
    "mixing": Mixing,
    "gating": Gating,
    "steering": Steering,
    "moody": Moody,
    "counting": Counting,
    "identity": nn.Identity,
    "zeros": lambda: zeros,
    "doubling": lambda: doubling,
    "steering function": lambda: steering,
    "itself": lambda: itself,
    "squashing": lambda: torch.tanh,
    "halving": lambda: partial(torch.mul, other=0.5),
    "lifting": lambda: lifting,
    "telling": lambda: telling,
}


def make(part: Part) -> Any:
    """Build the sublayer a case asks for; always a fresh one."""
    return PARTS[part.name](**part.options)
