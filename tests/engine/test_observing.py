"""Banned calls, Python loops and device mistakes are seen however they are written."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from grader.engine.observing import (
    banned_calls,
    count_operations,
    recorded_calls,
    runs_elsewhere,
)

X = torch.arange(6.0).reshape(2, 3)


def calls(group: str, call: Callable[[], object]) -> set[str]:
    with banned_calls(frozenset({group})) as called:
        call()
    return called


@pytest.mark.parametrize(
    "call",
    [
        lambda: torch.softmax(X, -1),
        lambda: X.softmax(-1),
        lambda: F.softmax(X, dim=-1),
        lambda: nn.Softmax(dim=-1)(X),
        lambda: torch.special.softmax(X, -1),
        lambda: torch.sparse.softmax(X.to_sparse(), -1),
        lambda: F.softmin(-X, dim=-1),
        lambda: F.log_softmax(X, -1).exp(),
        lambda: X.log_softmax(-1).exp(),
        lambda: nn.LogSoftmax(-1)(X).exp(),
        lambda: torch.exp(X - X.logsumexp(-1, keepdim=True)),
        lambda: torch.exp(X - torch.logsumexp(X, -1, keepdim=True)),
        lambda: torch.ops.aten.softmax.int(X, -1),
        lambda: torch.ops.aten._softmax.default(X, -1, False),
        lambda: getattr(torch, "soft" + "max")(X, -1),
    ],
)
def test_softmax_is_seen_by_whatever_name_it_is_reached(call: Callable[[], object]) -> None:
    assert calls("softmax", call) == {"softmax"}


def test_a_function_of_the_same_name_is_no_banned_call() -> None:
    def softmax(x: Tensor) -> Tensor:
        e = (x - x.amax(-1, keepdim=True)).exp()
        return e / e.sum(-1, keepdim=True)

    assert calls("softmax", lambda: softmax(X)) == set()


@pytest.mark.parametrize(
    ("group", "call"),
    [
        ("softmax", lambda x: torch.softmax(x, -1)),
        ("softmax", lambda x: x - x.logsumexp(-1, keepdim=True)),
        ("scaled_dot_product_attention", lambda x: F.scaled_dot_product_attention(x, x, x)),
    ],
)
def test_a_call_in_another_thread_is_seen(group: str, call: Callable[[Tensor], Tensor]) -> None:
    x = torch.rand(1, 2, 3, 4, requires_grad=True)
    with ThreadPoolExecutor(1) as pool:
        returned = pool.submit(call, x).result()
    assert recorded_calls((returned,), frozenset({group})) == {group}


def test_a_function_of_the_learners_own_is_no_recorded_call() -> None:
    class Softmax(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            return x.exp()

        @staticmethod
        def backward(ctx: Any, *grads: Tensor) -> Tensor:
            return grads[0]

    returned = Softmax.apply(torch.rand(3, requires_grad=True))
    assert recorded_calls(returned, frozenset({"softmax"})) == set()


def test_ready_made_attention_is_seen() -> None:
    q = torch.zeros(1, 2, 3, 4)
    group = "scaled_dot_product_attention"
    assert calls(group, lambda: F.scaled_dot_product_attention(q, q, q)) == {group}
    assert calls(group, lambda: torch.ops.aten.scaled_dot_product_attention(q, q, q)) == {group}
    attention = nn.MultiheadAttention(4, 2, batch_first=True)
    assert calls("MultiheadAttention", lambda: attention(q[0], q[0], q[0])) == {
        "MultiheadAttention"
    }
    layer = nn.TransformerEncoderLayer(4, 2, 8, batch_first=True).eval()
    assert calls("Transformer", lambda: layer(q[0])) == {"Transformer"}


def test_operations_are_counted() -> None:
    def looped(times: int) -> int:
        return count_operations(lambda: [X + 1 for _ in range(times)])

    assert looped(8) - looped(4) == 4


class Table(nn.Module):
    def __init__(self, registered: bool) -> None:
        super().__init__()
        if registered:
            self.register_buffer("table", torch.ones(3))
        else:
            self.table = torch.ones(3)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.table


def call_of(function: Callable[[Tensor], Any]) -> str:
    return runs_elsewhere(lambda: function, lambda: function, lambda: ((X,), {}))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x + torch.ones(3),
        lambda x: x.masked_fill(torch.ones(3, dtype=torch.bool), 0.0),
        lambda x: torch.where(torch.ones(3).bool(), x, x),
        lambda x: torch.ones(2, 3),
        lambda x: x.to("cpu"),
        lambda x: x @ torch.ones(3, 3),
        lambda x: x + torch.arange(3, dtype=x.dtype),
    ],
)
def test_a_tensor_left_on_the_cpu_is_seen(function: Callable[[Tensor], Any]) -> None:
    assert call_of(function)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x + torch.ones(3, device=x.device),
        lambda x: x + torch.ones(3).to(x.device),
        lambda x: x + torch.ones(3).to(x),
        lambda x: x + torch.ones(3).type_as(x),
        lambda x: x + x.new_ones(3),
        lambda x: x + torch.ones_like(x),
        lambda x: x / torch.sqrt(torch.tensor(3.0)),
        lambda x: x[:, torch.arange(2)],
        lambda x: x.masked_fill(torch.ones(2, 3, device=x.device).tril() == 0, -1e9).sum(-1),
        lambda x: torch.full((2, 3), 1.0, device=x.device) * x,
        lambda x: torch.stack([row * 2 for row in x]),
    ],
)
def test_what_follows_the_input_is_right(function: Callable[[Tensor], Any]) -> None:
    assert call_of(function) == ""


def test_a_buffer_follows_its_module_and_a_plain_attribute_does_not() -> None:
    def trouble(registered: bool) -> str:
        def make() -> Table:
            return Table(registered)

        return runs_elsewhere(make, make, lambda: ((X,), {}))

    assert trouble(registered=True) == ""
    assert trouble(registered=False)


@pytest.mark.parametrize(
    ("made_on", "trouble"),
    [(lambda device: device, ""), (lambda device: device or "cpu", "on cpu, whatever")],
)
def test_no_device_stands_for_the_default_one(made_on: Callable[[Any], Any], trouble: str) -> None:
    def mask(length: int, device: Any = None) -> Tensor:
        return torch.ones(length, length, dtype=torch.bool, device=made_on(device)).tril()

    seen = runs_elsewhere(lambda: mask, lambda: mask, lambda: ((), {"length": 3, "device": None}))
    assert trouble in seen
    assert bool(seen) == bool(trouble)
