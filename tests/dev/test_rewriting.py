"""Rewrites that keep the meaning: tried on tensors, without the grader."""

from __future__ import annotations

import ast
from typing import Any

import pytest
import torch

from grader.dev.mutating import bare
from grader.dev.rewriting import options, rewritten

SOURCE = '''
from __future__ import annotations
import math
import torch
from torch import Tensor, nn


class Attention(nn.Module):
    """Attention with a norm."""

    def __init__(self, d_model: int, num_heads: int) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.head_dim = d_model // num_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.out_proj = nn.Linear(d_model, d_model)
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)

    def forward(self, x: Tensor, pad_mask: Tensor | None = None) -> Tensor:
        batch, length, d_model = x.shape
        q = self.q_proj(x)
        k = self.k_proj(x)
        v = self.v_proj(x)
        q = q.view(batch, length, self.num_heads, self.head_dim).transpose(1, 2)
        k = k.view(batch, length, self.num_heads, self.head_dim).transpose(1, 2)
        v = v.view(batch, length, self.num_heads, self.head_dim).transpose(1, 2)
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.head_dim)
        if pad_mask is not None:
            scores = scores.masked_fill(~pad_mask[:, None, None, :], float("-inf"))
        weights = torch.softmax(scores, dim=-1)
        context = (weights @ v).transpose(1, 2).reshape(batch, length, d_model)
        return self.norm2(x + torch.relu(self.norm1(self.out_proj(context))))
'''


def run(source: str) -> Any:
    names: dict[str, Any] = {}
    exec(compile(source, "rewritten", "exec", dont_inherit=True), names)
    module = names["Attention"](12, 3).double()
    generator = torch.Generator().manual_seed(0)
    # By size and order among equals: layers may be renamed, but not here reordered or fused.
    with torch.no_grad():
        for parameter in module.parameters():
            values = torch.rand(parameter.shape, generator=generator, dtype=torch.float64)
            parameter.copy_(values - 0.5)
    x = torch.rand(2, 5, 12, generator=generator, dtype=torch.float64)
    mask = torch.tensor([[True, True, True, False, False], [True] * 5])
    return module(x, pad_mask=mask)


def kinds() -> list[str]:
    return sorted(options(bare(SOURCE)))


# These change the order of the parameters, which `run` fills by.
REORDERING = {"statements exchanged", "projections fused"}


@pytest.mark.parametrize("kind", kinds())
def test_every_rewrite_keeps_the_values(kind: str) -> None:
    expected = run(SOURCE)
    count = len(options(bare(SOURCE))[kind])
    for place in range(count):
        tree = bare(SOURCE)
        options(tree)[kind][place]()
        text = ast.unparse(tree)
        assert text != ast.unparse(bare(SOURCE))
        got = run(text)
        assert got.shape == expected.shape
        if kind not in REORDERING:
            assert torch.allclose(got, expected, rtol=1e-9, atol=1e-9), text


def test_the_kinds_that_people_write_are_there() -> None:
    assert set(kinds()) >= {
        "additive mask",
        "einsum",
        "function for method",
        "helper extracted",
        "hints dropped",
        "keywords",
        "layers renamed",
        "methods reordered",
        "permute",
        "projections fused",
        "reshape",
        "scale moved",
        "statements exchanged",
        "view and contiguous",
        "where",
    }


def test_steps_draw_the_same_file_every_time() -> None:
    steps = [(11, 3), (7, 500), (12345, 6), (4, 4)]
    once, again = rewritten(SOURCE, steps), rewritten(SOURCE, steps)
    assert once == again
    assert len(once.kinds) == len(steps)


def test_fused_projections_are_one_layer() -> None:
    tree = bare(SOURCE)
    options(tree)["projections fused"][0]()
    text = ast.unparse(tree)
    assert "self.qkv = nn.Linear(d_model, 3 * d_model)" in text
    assert "q, k, v = self.qkv(x).chunk(3, dim=-1)" in text


@pytest.mark.parametrize("scale", ["d ** 0.5", "(2 * d ** 0.5)"])
@pytest.mark.parametrize("kind", ["scale", "scale moved"])
def test_a_scale_may_be_a_power_or_a_product(kind: str, scale: str) -> None:
    source = f"def scored(q, k, d):\n    return q @ k / {scale}\n"
    q, k = torch.rand(2, 3), torch.rand(3, 2)

    def scored(text: str) -> Any:
        names: dict[str, Any] = {"torch": torch}
        exec(text, names)
        return names["scored"](q, k, 3)

    for place in range(len(options(bare(source))[kind])):
        tree = bare(source)
        options(tree)[kind][place]()
        assert torch.allclose(scored(ast.unparse(tree)), scored(source), rtol=1e-5)


def test_a_helper_is_handed_what_a_function_imports() -> None:
    source = "def copied(value):\n    from copy import deepcopy\n    return deepcopy(value)\n"
    tree = bare(source)
    (cut,) = options(tree)["helper extracted"]
    cut()
    names: dict[str, Any] = {}
    exec(ast.unparse(tree), names)
    assert names["copied"]([1]) == [1]
