"""Targets that are missing, misspelt, or cannot be called as agreed, are told apart."""

from __future__ import annotations

import pytest

from grader.engine.contract import problems
from grader.engine.loading import load
from grader.model import Target

LAYER = Target("Layer", "module", ("d_model", "num_heads"), ("x", "mask"))
BLOCK = Target("Block", "module", ("d_model",), ("x", "*args", "**kwargs"))
SOFTMAX = Target("softmax", "function", ("x", "dim"))
HEAD = "from torch import nn\nimport torch\n"


def messages(source: str, *targets: Target) -> list[tuple[str, int | None]]:
    found = problems(load((HEAD + source).encode(), "answer.py"), targets)
    return [(problem.message, problem.line) for problem in found]


@pytest.mark.parametrize(
    ("source", "target", "words", "line"),
    [
        ("x = 1", SOFTMAX, "no function softmax in the file", None),
        ("def soft_max(x, dim): ...", SOFTMAX, "is soft_max meant", None),
        ("def other(x): ...", SOFTMAX, "it defines other", None),
        ("softmax = 3", SOFTMAX, "should be a function, but is of type int", None),
        ("class softmax: ...", SOFTMAX, "should be a function, but is a class", 3),
        ("def softmax(x): ...", SOFTMAX, "softmax takes (x); expected (x, dim)", 3),
        ("def softmax(dim, x): ...", SOFTMAX, "softmax takes (dim, x); expected (x, dim)", 3),
        (
            "class Layer(nn.Module):\n    def __init__(self, d_model, num_heads): ...\n"
            "    def forward(self, mask, x): ...",
            LAYER,
            "forward takes (mask, x); expected (x, mask)",
            5,
        ),
        ("def Layer(d_model): ...", LAYER, "should be a class, but is a function", 3),
        ("class Layer: ...", LAYER, "class Layer(nn.Module)", 3),
        ("class layer(nn.Module): ...", LAYER, "is layer meant", None),
        (
            "class Layer(nn.Module):\n    def __init__(self, d_model, heads): ...\n"
            "    def forward(self, x, mask): ...",
            LAYER,
            "expected (d_model, num_heads)",
            4,
        ),
        (
            "class Layer(nn.Module):\n    def __init__(self, d_model, num_heads): ...",
            LAYER,
            "has no forward method",
            3,
        ),
        (
            "class Layer(nn.Module):\n    def __init__(self, d_model, num_heads): ...\n"
            "    def forward(self, x): ...",
            LAYER,
            "forward takes (x); expected (x, mask)",
            5,
        ),
        (
            "class Block(nn.Module):\n    def __init__(self, d_model): ...\n"
            "    def forward(self, x): ...",
            BLOCK,
            "expected (x, *args, **kwargs)",
            5,
        ),
    ],
)
def test_one_message_for_each_problem(
    source: str, target: Target, words: str, line: int | None
) -> None:
    ((message, where),) = messages(source, target)
    assert words in message
    assert where == line


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("def softmax(x, dim=-1): ...", SOFTMAX),
        ("softmax = lambda x, dim=-1, **more: x", SOFTMAX),
        ("def softmax(*args, **kwargs): ...", SOFTMAX),
        ("def softmax(*, dim=-1, x): ...", SOFTMAX),
        ("def softmax(scores=None, dim=-1, x=None): ...", SOFTMAX),
        ("def softmax(x, *, eps=0, dim=-1): ...", SOFTMAX),
        (
            "class Layer(nn.Module):\n    def __init__(self, d_model, num_heads=8, b=True): ...\n"
            "    def forward(self, x, mask=None, extra=None): ...",
            LAYER,
        ),
        (
            "class Base(nn.Module):\n    def forward(self, x, mask): ...\n"
            "class Layer(Base):\n    def __init__(self, **kwargs): ...",
            LAYER,
        ),
        (
            "class Block(nn.Module):\n    def __init__(self, d_model): ...\n"
            "    def forward(self, x, *rest, **options): ...",
            BLOCK,
        ),
        (
            "class Layer(nn.Module):\n    def __init__(self, d_model, num_heads):\n"
            "        super().__init__()\n        self.forward = self.one if d_model else None\n"
            "    def one(self, x, mask): ...",
            LAYER,
        ),
        (
            "class Block(nn.Module):\n    def __new__(cls, d_model):\n"
            "        return super().__new__(Own)\n    def __init__(self, d_model): ...\n"
            "class Own(Block):\n    def forward(self, x, *rest, **options): ...",
            BLOCK,
        ),
    ],
)
def test_anything_that_can_be_called_as_agreed_is_accepted(source: str, target: Target) -> None:
    assert messages(source, target) == []
