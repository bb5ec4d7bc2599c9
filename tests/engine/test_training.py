"""What shows in training only: gradients and values behind a dropout written by hand."""

from __future__ import annotations

import pytest
import torch

from grader.engine.grading import grade
from grader.model import Case, Check, Kata, Recipe, Role, Target, Verdict
from grader.strategies import integer, linear_weights, numbers, with_equal_features

SOLUTION = """
from torch import nn

class Scale(nn.Module):
    def __init__(self, d_model, dropout):
        super().__init__()
        self.q_proj = nn.Linear(d_model, d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, mask=None):
        y = self.dropout(self.q_proj(x))
        return y if mask is None else y.masked_fill(~mask, 0.0)
"""
BY_HAND = """
import torch
from torch import nn

class Drop(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        if not self.training or self.p == 0:
            return x
        keep = torch.rand_like(x) > self.p
        return x * keep / (1 - self.p)

class Scale(nn.Module):
    def __init__(self, d_model, dropout):
        super().__init__()
        self.q_proj = nn.Linear(d_model, d_model)
        self.dropout = Drop(dropout)

    def forward(self, x, mask=None):
        y = self.dropout(self.q_proj(x))
        return y if mask is None else y.masked_fill(~mask, 0.0)
"""


def build(recipe: Recipe) -> Case:
    x = numbers(1, "x", 3, 4)
    train = bool(integer(recipe, "train", 0))
    return Case(
        "Scale",
        {"x": x, "mask": numbers(2, "mask", 3, 4) > 0 if integer(recipe, "mask", 0) else None},
        ((3, 4),),
        init={"d_model": 4, "dropout": 1e-9 if train else 0.0},
        weights=linear_weights(1, "q_proj", (4, 4)),
        roles=(Role("q_proj", "query"),),
        train=train,
        observe=frozenset({"gradients"} if train else ()),
    )


def same(case: Case) -> Case:
    return case


KATA = Kata(
    number=99,
    stem="kata99_scale",
    title="Scale",
    minutes=1,
    cap_minutes=2,
    targets=(Target("Scale", "module", ("d_model", "dropout"), ("x", "mask")),),
    build=build,
    checks=(
        Check("values_match", "the values are right", "Scale", "values", bank=({},)),
        Check("training", "training is the same", "Scale", "undropped", bank=({"train": 1},)),
        Check("keeps", "keeps", "Scale", "unchanged", bank=({"mask": 1},), vary=same),
    ),
    bugs=(),
)


def graded(source: str) -> Verdict:
    return grade(KATA, source.encode(), "answer.py", solution=SOLUTION)


def failing(source: str) -> dict[str, str]:
    return {c.name: c.message for c in graded(source).checks if c.status == "failed"}


@pytest.mark.parametrize(
    "source",
    [
        SOLUTION,
        BY_HAND,
        # Further dropout is free, and its gradients are as random as its values.
        SOLUTION.replace("self.q_proj(x))", "nn.functional.dropout(self.q_proj(x), 0.5))").replace(
            "0.5)", "0.5, self.training)"
        ),
    ],
)
def test_right_dropout_passes(source: str) -> None:
    assert failing(source) == {}


@pytest.mark.parametrize(
    ("line", "by", "message"),
    [
        ("return x * keep / (1 - self.p)", "return (x * keep).detach()", "no gradient reaches"),
        ("return x * keep / (1 - self.p)", "return (x * keep).relu()", "differ"),
        ("return x * keep / (1 - self.p)", "return x * keep / (1.01 - self.p)", "differ"),
    ],
)
def test_a_wrong_branch_for_training_fails(line: str, by: str, message: str) -> None:
    found = failing(BY_HAND.replace(line, by))
    assert list(found) == ["training"]
    assert message in found["training"]


def test_an_answer_of_bools_is_wrong_and_no_fault_of_ours() -> None:
    verdict = graded(SOLUTION.replace("return y if mask is None else y.masked_fill(~mask, 0.0)",
                                      "return y if mask is None else mask"))  # fmt: skip
    assert verdict.status in ("passed", "failed")


def test_tokens_without_variance_reach_every_norm() -> None:
    case = Case(
        "Layer",
        {"x": numbers(1, "x", 2, 3, 4), "pad_mask": None},
        ((2, 3, 4),),
        weights={
            "norm1.weight": numbers(1, "w", 4),
            "norm1.bias": numbers(1, "b", 4),
            "linear1.weight": numbers(1, "l", 4, 4),
        },
    )
    flat = with_equal_features(case)
    assert bool((flat.inputs["x"].var(-1) == 0).all())
    assert flat.inputs["x"].unique().numel() > 1
    assert bool((flat.weights["norm1.bias"].var() == 0).all())
    assert torch.equal(flat.weights["norm1.weight"], case.weights["norm1.weight"])
    assert not flat.weights["linear1.weight"].any()
