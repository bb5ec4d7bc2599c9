"""Layers that hold their weights in another way become plain ones that compute the same."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from grader.engine.execution import execute
from grader.engine.loading import load
from grader.engine.unwrapping import may_wrap, unwrap
from grader.model import Case, Role

OLD = "ignore:.*torch.nn.utils.weight_norm.*:FutureWarning"


class Pair(nn.Module):
    def __init__(self, wrap: str) -> None:
        super().__init__()
        one, two = nn.Linear(3, 4), nn.Linear(4, 3)
        if wrap == "old":
            one = nn.utils.weight_norm(one)
        elif wrap == "new":
            one = nn.utils.parametrizations.weight_norm(one)
        elif wrap == "lazy":
            one = nn.LazyLinear(4)
        self.one, self.two = one, two

    def forward(self, x: Tensor) -> Tensor:
        return self.two(self.one(x))


@pytest.mark.filterwarnings(OLD)
@pytest.mark.parametrize("wrap", ["old", "new"])
def test_a_weight_norm_is_taken_off(wrap: str) -> None:
    module, x = Pair(wrap), torch.randn(2, 3)
    before = module(x)
    unwrap(module)
    assert torch.allclose(module(x), before)
    names = {name for name, _ in module.named_parameters()}
    assert names == {"one.weight", "one.bias", "two.weight", "two.bias"}


def test_another_parametrization_stays() -> None:
    module = Pair("")
    nn.utils.parametrizations.orthogonal(module.one)
    unwrap(module)
    assert "one.weight" not in dict(module.named_parameters())


def test_lazy_layers_are_made_by_a_call() -> None:
    module = Pair("lazy")
    unwrap(module, lambda: module(torch.randn(2, 3)))
    assert module.one.weight.shape == (4, 3)


def test_a_plain_module_is_not_called() -> None:
    unwrap(Pair(""), lambda: pytest.fail("called"))


@pytest.mark.parametrize(
    "layer",
    [
        "nn.LazyLinear(d_model)",
        "nn.utils.parametrizations.weight_norm(nn.Linear(d_model, d_model))",
    ],
)
def test_weights_reach_such_layers(layer: str) -> None:
    source = f"""
from torch import nn
class Layer(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.query = {layer}
    def forward(self, x):
        return self.query(x)
"""
    assert may_wrap(source)
    weights = {
        "q_proj.weight": torch.tensor([[0.0, 2.0], [3.0, 1.0]]),
        "q_proj.bias": torch.ones(2),
    }
    case = Case(
        "Layer",
        {"x": torch.eye(2)},
        ((2, 2),),
        init={"d_model": 2},
        weights=weights,
        roles=(Role("q_proj", "query"),),
    )
    outcome = execute(case, load(source.encode(), "answer.py"))
    (value,) = outcome.returned
    assert isinstance(value, Tensor)
    assert torch.allclose(value, torch.tensor([[1.0, 4.0], [3.0, 2.0]]).double())
