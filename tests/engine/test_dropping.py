"""Dropout is measured by an output: what share goes, and whether each value goes by itself."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from grader.engine.dropping import alike, dropout_off, dropped, fault, same_drops
from grader.strategies import alternating

RATE = 0.25


def measured(drop: Callable[[Tensor], Tensor], seed: int = 0) -> tuple[float, ...]:
    torch.manual_seed(seed)
    lifted = (torch.arange(32) > 1).double().expand(4, 64, 32)
    return dropped(F.layer_norm(alternating(32) + drop(lifted), (32,)))


def drop_some(t: Tensor) -> Tensor:
    return (torch.rand_like(t) > RATE).double()


@pytest.mark.parametrize("seed", range(20))
def test_right_dropout_passes_whatever_it_draws(seed: int) -> None:
    by_hand = measured(lambda t: t * (torch.rand_like(t) > RATE) / (1 - RATE), seed)
    assert fault(by_hand, RATE, "") is None
    assert fault(measured(nn.Dropout(RATE), seed), RATE, "") is None
    assert alike(by_hand, measured(nn.Dropout(RATE), seed))


@pytest.mark.parametrize(
    ("drop", "message"),
    [
        (lambda t: t, "0% of"),
        (lambda t: F.dropout(F.dropout(t, RATE), RATE), "44% of"),
        (lambda t: F.dropout(t, 1 - RATE), "75% of"),
        (lambda t: F.dropout(t, RATE) * (1 - RATE), "1.000 times"),
        (lambda t: t * (keep := drop_some(t)) / keep.mean(), "1.3"),
        (lambda t: t * (torch.rand_like(t).argsort(-1) >= 8) / (1 - RATE), "the same number of"),
        (lambda t: t * F.dropout(torch.ones(4, 64, 1), RATE), "each feature like the next"),
        (lambda t: t * F.dropout(torch.ones(1, 64, 32), RATE), "each row like the next"),
        (lambda t: t * F.dropout(torch.ones(4, 1, 32), RATE), "each token like the next"),
    ],
)
def test_wrong_dropout_is_told(drop: Callable[[Tensor], Tensor], message: str) -> None:
    found = fault(measured(drop), RATE, f"with dropout={RATE}")
    assert found is not None
    assert message in found[0]


def test_the_same_values_are_told_from_other_ones() -> None:
    lifted = (torch.arange(32) > 1).double().expand(4, 64, 32)
    keep = drop_some(lifted), drop_some(lifted)
    one, other = (F.layer_norm(alternating(32) + each * lifted, (32,)) for each in keep)
    assert same_drops(one, 2 * one + 3)
    assert not same_drops(one, other)
    assert not same_drops(lifted, lifted), "nothing is dropped"


def test_nothing_is_said_of_other_outputs() -> None:
    assert dropped(torch.ones(3)) == ()
    assert fault((), RATE, "") is None


def test_dropout_is_switched_off() -> None:
    x = torch.ones(50)
    with dropout_off():
        assert torch.equal(nn.Dropout(0.5)(x), x)
        assert torch.equal(F.dropout(input=x, p=0.9), x)
        assert torch.equal(torch.native_dropout(x, 0.5, True)[0], x)
    assert not torch.equal(F.dropout(x, 0.5), x)
