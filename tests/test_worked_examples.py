"""The numbers worked by hand in the statements are those that the solutions give.

They are read from the docstrings, so that neither can change alone.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

SOLUTIONS = Path(__file__).resolve().parents[1] / "solutions"
# Numbers are given to four places.
HALF_A_DIGIT = 0.5e-4 + 1e-9


def solution(stem: str) -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": stem}
    source = (SOLUTIONS / f"{stem}.py").read_text(encoding="utf-8")
    exec(compile(source, f"{stem}.py", "exec", dont_inherit=True), names)
    return names


def matrices(statement: str) -> dict[str, Tensor]:
    """Return every `name = [[…], …]` that stands on a line of its own."""
    found = re.findall(r"^ +(\w+) *= (\[\[.*\]\])$", statement, flags=re.MULTILINE)
    return {name: torch.tensor(ast.literal_eval(rows), dtype=torch.float64) for name, rows in found}


def assert_to_four_places(stated: Tensor, exact: Tensor) -> None:
    assert stated.shape == exact.shape
    assert (stated - exact).abs().max() <= HALF_A_DIGIT


def test_kata00_attention_of_three_tokens() -> None:
    names = solution("kata00_warm_up")
    stated = matrices(names["__doc__"])
    assert set(stated) == {"q", "k", "v", "scores", "weights", "output"}
    q, k, v = stated["q"], stated["k"], stated["v"]
    assert_to_four_places(stated["scores"], q @ k.T / 2)
    assert_to_four_places(stated["weights"], torch.softmax(stated["scores"], dim=-1))
    assert_to_four_places(stated["output"], names["attention"](q, k, v))


def test_kata00_grades_the_example_that_it_states() -> None:
    from grader.specs import kata00_warm_up

    stated = matrices(solution("kata00_warm_up")["__doc__"])
    graded = kata00_warm_up.build({"kind": "example"}).inputs
    assert all(torch.equal(graded[name], stated[name]) for name in ("q", "k", "v"))


def test_kata02_attention_of_three_tokens() -> None:
    names = solution("kata02_single_head_attention")
    stated = matrices(names["__doc__"])
    assert set(stated) == {"q", "k", "v", "scores", "weights", "output"}
    q, k, v = stated["q"], stated["k"], stated["v"]
    output, weights = names["scaled_dot_product_attention"](q, k, v)
    assert_to_four_places(stated["scores"], q @ k.T / 2**0.5)
    assert_to_four_places(stated["weights"], weights)
    assert_to_four_places(stated["output"], output)


def test_kata02_softmax_in_words() -> None:
    statement = solution("kata02_single_head_attention")["__doc__"]
    parts = re.findall(r"(\d[\d.]*) / (\d+\.\d+)", statement)
    assert len(parts) == 3
    first = torch.tensor([float(a) / float(b) for a, b in parts], dtype=torch.float64)
    assert_to_four_places(matrices(statement)["weights"][0], first)
