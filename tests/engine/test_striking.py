"""What dropout struck is told by outputs laid out for it, whatever it draws."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from grader.engine.striking import struck
from grader.strategies import alternating

RATE = 0.25
SEEDS = range(10)
MIXING = torch.arange(144).cos().reshape(12, 12)  # the output projection


class Attention(nn.Module):
    """Two tokens of which only the first has a value; `drops` strikes one tensor by its name."""

    def __init__(self, **drops: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.drops = drops

    def dropped(self, name: str, value: Tensor) -> Tensor:
        return self.drops[name](value) if self.training and name in self.drops else value

    def forward(self) -> Tensor:
        shape = (64, 2, 12)
        tokens = torch.linspace(-1, 1.3, 24).reshape(2, 12).expand(shape)
        tokens = self.dropped("tokens", tokens)
        value = tokens * torch.tensor([1.0, 0.0])[:, None] + 0
        query = self.dropped("query", tokens)
        scores = self.dropped("scores", query @ tokens.mT / 12**0.5)
        weights = self.dropped("weights", scores.softmax(-1))
        average = weights @ self.dropped("value", value)
        return self.dropped("output", average @ MIXING)


def told(module: Attention, seed: int) -> str:
    torch.manual_seed(seed)
    trained, rested = module.train()(), module.eval()()
    return struck(trained, rested, normed=False)


def drop(value: Tensor) -> Tensor:
    return F.dropout(value, RATE)


def renormalised(weights: Tensor) -> Tensor:
    left = weights * (torch.rand_like(weights) > RATE)
    return left / left.sum(-1, keepdim=True).clamp(min=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    "weights", [drop, lambda w: drop(w) * (1 - RATE), renormalised, nn.Dropout1d(RATE)]
)
def test_weights_may_be_dropped(weights: Callable[[Tensor], Tensor], seed: int) -> None:
    assert told(Attention(weights=weights), seed) == ""


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("tokens", "features"),
        ("value", "features"),
        ("query", "scores"),
        ("scores", "scores"),
    ],
)
def test_nothing_else_may_be(name: str, what: str, seed: int) -> None:
    assert told(Attention(**{name: drop}), seed) == what
    assert told(Attention(**{name: drop, "weights": drop}), seed) == what


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("weights", [lambda w: w, drop, renormalised])
def test_and_so_may_the_output(weights: Callable[[Tensor], Tensor], seed: int) -> None:
    assert told(Attention(weights=weights, output=drop), seed) == ""


@pytest.mark.parametrize("seed", SEEDS)
def test_behind_a_norm_what_was_added_tells(seed: int) -> None:
    torch.manual_seed(seed)
    lifted = 0.7 * (torch.arange(16) > 1).double().expand(64, 1, 16)

    def out(change: Tensor) -> Tensor:
        return F.layer_norm(alternating(16) + change, (16,))

    weights = drop(torch.ones(64, 1, 1, dtype=torch.float64))
    uneven = drop(torch.ones(64, 1, 16, dtype=torch.float64)).mean(-1, keepdim=True)
    assert struck(out(drop(lifted * weights)), out(lifted), normed=True) == ""
    assert struck(out(drop(lifted * uneven)), out(lifted), normed=True) == "input"


def test_nothing_is_said_of_other_outputs() -> None:
    assert struck(torch.ones(3), torch.ones(3), normed=False) == ""
    assert struck(torch.ones(2, 2, 12), torch.ones(2, 3, 12), normed=False) == ""


@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_is_said_where_the_second_token_has_a_value_after_all(seed: int) -> None:
    class Unprojected(Attention):
        def forward(self) -> Tensor:
            tokens = torch.linspace(-1, 1.3, 24).reshape(2, 12).expand(64, 2, 12)
            weights = self.dropped("weights", (tokens @ tokens.mT / 12**0.5).softmax(-1))
            return weights @ tokens @ MIXING

    assert told(Unprojected(weights=drop), seed) == ""
