"""`execute` reports what a call did, whatever it did, and leaves torch as it was."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from grader.engine.execution import execute
from grader.engine.loading import load
from grader.model import Alien, Case, Outcome

HEAD = "import torch\nfrom torch import nn\n"


def run(source: str, **options: Any) -> Outcome:
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=torch.float64)
    case = replace(Case("f", {"x": x}, ((2, 2),)), **options)
    return execute(case, load((HEAD + source).encode(), "answer.py"))


def tensor(outcome: Outcome) -> Tensor:
    (value,) = outcome.returned
    assert isinstance(value, Tensor)
    return value


def test_returns_a_detached_copy() -> None:
    outcome = run("def f(x): return x")
    assert outcome.status == "returned"
    assert torch.equal(tensor(outcome), torch.tensor([[1.0, 2.0], [3.0, 4.0]]).double())


def test_an_input_changed_in_place_is_named() -> None:
    assert run("def f(x): x.sub_(1); return x").changed == ("x",)
    assert run("def f(x): return x.clone().sub_(1)").changed == ()


@pytest.mark.parametrize(
    ("value", "alien"),
    [("None", "NoneType"), ("[1.0]", "list"), ("x.tolist()", "list"), ("'x'", "str")],
)
def test_what_is_no_tensor_is_named_by_its_type(value: str, alien: str) -> None:
    assert run(f"def f(x): return {value}").returned == (Alien(alien),)


def test_a_tensor_subclass_is_not_taken_for_a_tensor() -> None:
    source = (
        "class Sly(torch.Tensor):\n"
        "    def __eq__(self, other): return torch.ones_like(other, dtype=torch.bool)\n"
        "def f(x): return x.as_subclass(Sly)"
    )
    assert run(source).returned == (Alien("Sly"),)


def test_the_output_is_found_in_a_tuple_by_its_shape() -> None:
    outcome = run("def f(x): return x.sum(), x + 1")
    assert torch.equal(tensor(outcome), torch.tensor([[2.0, 3.0], [4.0, 5.0]]).double())
    assert any("tuple" in note for note in outcome.notes)


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("raise ValueError('no')", "ValueError"),
        ("import sys; sys.exit(3)", "SystemExit"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt"),
        ("return f(x)", "RecursionError"),
        ("raise type('Odd', (BaseException,), {})()", "Odd"),
    ],
)
def test_whatever_is_raised_is_reported_with_the_line(body: str, kind: str) -> None:
    raised = run(f"def f(x):\n    {body}").raised
    assert raised is not None
    assert raised.kinds[0] == kind
    assert raised.line == 4
    assert raised.code == body


def test_an_exception_shows_the_shapes_in_the_learners_frame() -> None:
    source = "def g(x):\n    y = x[0]\n    return y.view(3, 3)\ndef f(x): return g(x)"
    raised = run(source).raised
    assert raised is not None
    assert raised.line == 5
    assert ("x", "(2, 2) float64") in raised.shapes
    assert ("y", "(2,) float64") in raised.shapes


def test_gradients_reach_the_inputs_and_free_positions_do_not_count() -> None:
    observe = frozenset({"gradients"})
    full = run("def f(x): return x * 2", observe=observe).gradients["x"]
    compared = torch.tensor([[True], [False]])
    part = run("def f(x): return x * 2", observe=observe, compared=compared).gradients["x"]
    assert full is not None
    assert part is not None
    assert torch.equal(part[0], full[0])
    assert not part[1].any()


def test_nan_at_free_positions_does_not_poison_the_gradients() -> None:
    source = "def f(x): return torch.cat([x[:1], x[1:] * float('nan')])"
    compared = torch.tensor([[True], [False]])
    gradient = run(source, observe=frozenset({"gradients"}), compared=compared).gradients["x"]
    assert gradient is not None
    assert gradient[0].isfinite().all()


def test_a_detached_result_has_no_gradient() -> None:
    assert run("def f(x): return x.detach()", observe=frozenset({"gradients"})).gradients == {
        "x": None
    }


def test_a_second_call_is_observed_on_the_same_instance() -> None:
    source = "n = [0]\ndef f(x):\n    n[0] += 1\n    return x + n[0]"
    outcome = run(source, observe=frozenset({"repeats"}))
    assert not torch.equal(tensor(outcome), outcome.observed["again"][0])


@pytest.mark.parametrize(
    ("source", "shared"),
    [
        ("kept = {}\ndef f(x): return kept.setdefault(x.shape, x * 2)", True),
        ("kept = {}\ndef f(x): return kept.setdefault(x.shape, x * 2).clone()", False),
        ("def f(x): return x * 2", False),
        ("def f(x): return (x[:1] * 0).expand(2, 2)", False),
    ],
)
def test_an_answer_that_a_caller_may_spoil_for_others_is_seen(source: str, shared: bool) -> None:
    outcome = run(source, observe=frozenset({"repeats"}))
    assert outcome.observed.get("shared", False) is shared
    assert torch.equal(tensor(outcome), outcome.observed["again"][0])


def test_torch_is_left_as_it_was() -> None:
    before = (torch.get_default_dtype(), torch.is_grad_enabled())
    run("def f(x):\n    torch.set_default_dtype(torch.float16)\n    torch.set_grad_enabled(False)")
    assert (torch.get_default_dtype(), torch.is_grad_enabled()) == before


def test_a_module_that_forgets_super_is_reported_at_its_line() -> None:
    source = "class M(nn.Module):\n    def __init__(self):\n        self.p = nn.Linear(2, 2)"
    raised = run(source, target="M", init={}).raised
    assert raised is not None
    assert raised.line == 5
    assert "__init__() call" in raised.message


def test_a_class_that_builds_no_module_is_reported() -> None:
    raised = run("class M: pass", target="M", init={}).raised
    assert raised is not None
    assert "not an nn.Module" in raised.message
