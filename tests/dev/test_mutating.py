"""Mechanical mutants: which changes are made, and which are left alone."""

from __future__ import annotations

import ast

import pytest

from grader.dev.mutating import mutants, plain
from grader.dev.templates import spec as template

SOURCE = '''
"""A file."""
import math
import torch
from torch import Tensor, nn


class Layer(nn.Module):
    """A layer."""

    def __init__(self, d_model: int, dropout: float = 0.1) -> None:
        super().__init__()
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.norm = nn.LayerNorm(d_model)

    def forward(self, x: Tensor, causal_mask=None, pad_mask=None) -> Tensor:
        q = self.q_proj(x)
        k = self.k_proj(x)
        scores = q @ k.transpose(-2, -1) / math.sqrt(4)
        if causal_mask is not None:
            scores = scores.masked_fill(~causal_mask, float("-inf"))
        if pad_mask is not None:
            scores = scores.masked_fill(~pad_mask[:, None, :], float("-inf"))
        weights = torch.softmax(scores, dim=-1)
        return self.norm(x + weights.sum(dim=1, keepdim=True))


if __name__ == "__main__":
    print(1 + 1)
'''


@pytest.fixture(scope="module")
def changes() -> set[str]:
    return {mutant.change for mutant in mutants(SOURCE)}


@pytest.mark.parametrize(
    "change",
    [
        # operators and operands
        "scores = q @ k.transpose(-2, -1) / math.sqrt(4) -> "
        "scores = q @ k.transpose(-2, -1) * math.sqrt(4)",
        "scores = q @ k.transpose(-2, -1) / math.sqrt(4) -> scores = q @ k.transpose(-2, -1)",
        "scores = q @ k.transpose(-2, -1) / math.sqrt(4) -> "
        "scores = k.transpose(-2, -1) @ q / math.sqrt(4)",
        # numbers, axes, flags
        "scores = q @ k.transpose(-2, -1) / math.sqrt(4) -> "
        "scores = q @ k.transpose(-2, -1) / math.sqrt(8)",
        "weights = torch.softmax(scores, dim=-1) -> weights = torch.softmax(scores, dim=-2)",
        "scores = scores.masked_fill(~pad_mask[:, None, :], float('-inf')) -> "
        "scores = scores.masked_fill(~pad_mask[None, :, :], float('-inf'))",
        "return self.norm(x + weights.sum(dim=1, keepdim=True)) -> "
        "return self.norm(x + weights.sum(dim=1, keepdim=False))",
        "self.norm = nn.LayerNorm(d_model) -> "
        "self.norm = nn.LayerNorm(d_model, elementwise_affine=False)",
        # conditions
        "if causal_mask is not None: -> if not causal_mask is not None:",
        "if causal_mask is not None: -> if causal_mask is None:",
        "if causal_mask is not None: -> if True:",
        # names of the same kind
        "scores = q @ k.transpose(-2, -1) / math.sqrt(4) -> "
        "scores = k @ k.transpose(-2, -1) / math.sqrt(4)",
        "k = self.k_proj(x) -> k = self.q_proj(x)",
        "if causal_mask is not None: -> if pad_mask is not None:",
        # calls dropped and added
        "scores = q @ k.transpose(-2, -1) / math.sqrt(4) -> scores = q @ k / math.sqrt(4)",
        "weights = torch.softmax(scores, dim=-1) -> weights = scores",
        "k = self.k_proj(x) -> k = self.k_proj(x).detach()",
        "k = self.k_proj(x) -> k = torch.nn.functional.dropout(self.k_proj(x), 0.1)",
        # a keyword less, another name returned
        "weights = torch.softmax(scores, dim=-1) -> weights = torch.softmax(scores)",
        "return self.norm(x + weights.sum(dim=1, keepdim=True)) -> return scores",
    ],
)
def test_makes_slips_of_the_hand(changes: set[str], change: str) -> None:
    assert f"Layer.forward: {change}" in changes or f"Layer.__init__: {change}" in changes


def test_drops_statements(changes: set[str]) -> None:
    assert "Layer.__init__: super().__init__() -> " in changes
    assert any(
        change.startswith("Layer.forward: if causal_mask is not None:") for change in changes
    )


def test_every_mutant_is_one_that_compiles_and_differs() -> None:
    found = mutants(SOURCE)
    texts = [mutant.source for mutant in found]
    assert len(set(texts)) == len(texts)
    assert plain(SOURCE) not in texts
    for text in texts:
        compile(text, "mutant", "exec", dont_inherit=True)


def test_leaves_alone_what_cannot_matter() -> None:
    for mutant in mutants(SOURCE):
        tree = ast.parse(mutant.source)
        assert ast.get_docstring(tree) is None
        assert "__name__" not in mutant.source
        assert "import math\nimport torch\nfrom torch import Tensor, nn" in mutant.source
        assert "x: Tensor" in mutant.source


def test_the_same_file_gives_the_same_mutants() -> None:
    assert mutants(SOURCE) == mutants(SOURCE)


def test_equations_get_their_letters_exchanged() -> None:
    source = "def f(a, b):\n    return torch.einsum('bid,bjd->bij', a, b)\n"
    afters = {mutant.after for mutant in mutants(source)}
    assert "return torch.einsum('bdi,bjd->bij', a, b)" in afters
    assert "return torch.einsum('bid,bjd->bji', a, b)" in afters


def test_the_template_has_mutants() -> None:
    path = template.__file__.replace("spec.py", "solution.py")
    with open(path, encoding="utf-8") as file:  # noqa: PTH123
        assert len(mutants(file.read())) > 20
