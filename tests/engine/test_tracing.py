"""Traces agree wherever behaviour does, and hardly anywhere else."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import Any

import pytest
import torch

from grader import catalog
from grader.engine.bench import Bench, LocalAnswer, solution_namespace
from grader.engine.comparing import same_behaviour
from grader.engine.diagnosing import bank
from grader.engine.execution import execute
from grader.engine.mutants import Store
from grader.engine.remembering import Memory
from grader.engine.tracing import Trace, trace_of
from grader.model import Case, Outcome

VALUE = torch.tensor([[0.3, -1.2, float("nan")], [4.0, float("inf"), 0.0]], dtype=torch.float64)


def case(**fields: Any) -> Case:
    return replace(Case("f", {}, ((2, 3),)), **fields)


@pytest.mark.parametrize("name", ["kata1", "kata3", "kata6"])
def test_traces_agree_wherever_behaviour_does(name: str) -> None:
    entry = catalog.find(name)
    kata = entry.load_spec()
    source = entry.solution_path.read_text(encoding="utf-8")
    bench = Bench(kata, LocalAnswer(source.encode(), "x.py"), Store(kata, source).reference)
    probes = list({id(each): each for each in bank(bench, kata)}.values())[::9]
    mutants = [solution_namespace(source, bug.variants[0]) for bug in kata.bugs[::3]]
    told_apart = differing = 0
    for probe in probes:
        outcomes = [bench.expected(probe).outcome, *(execute(probe, m) for m in mutants)]
        traces = [trace_of(probe, outcome) for outcome in outcomes]
        for (a, one), (b, other) in combinations(zip(outcomes, traces, strict=True), 2):
            if same_behaviour(probe, a, b):
                assert one.may_equal(other)
            else:
                differing += 1
                told_apart += not one.may_equal(other)
    assert differing > 200
    assert told_apart > 0.9 * differing


def test_rounding_does_not_change_a_trace_and_a_bug_does() -> None:
    exact = trace_of(case(), Outcome("returned", (VALUE,)))
    assert exact.may_equal(trace_of(case(), Outcome("returned", (VALUE * (1 + 1e-12),))))
    assert not exact.may_equal(trace_of(case(), Outcome("returned", (VALUE * 1.01,))))


def test_free_positions_do_not_count() -> None:
    some = case(compared=torch.tensor([[True], [False]]))
    changed = VALUE.clone()
    changed[1] = 7.0
    one, other = (trace_of(some, Outcome("returned", (value,))) for value in (VALUE, changed))
    assert one.may_equal(other)
    changed[0] = 7.0
    assert not one.may_equal(trace_of(some, Outcome("returned", (changed,))))


def test_an_empty_tensor_has_a_trace() -> None:
    empty = Outcome("returned", (torch.empty(0, 3),))
    assert trace_of(case(), empty).may_equal(trace_of(case(), empty))


def test_gradients_count_but_not_behind_nan() -> None:
    finite = torch.ones(2, 3, dtype=torch.float64)
    for value, counts in ((finite, True), (VALUE, False)):
        one, other = (
            trace_of(case(), Outcome("returned", (value,), gradients={"x": finite * factor}))
            for factor in (1, 2)
        )
        assert one.may_equal(other) is not counts
    none = trace_of(case(), Outcome("returned", (finite,), gradients={"x": None}))
    zero = trace_of(case(), Outcome("returned", (finite,), gradients={"x": 0 * finite}))
    assert none.may_equal(zero)


def test_traces_outlive_the_process_that_took_them() -> None:
    kata = catalog.find("kata3").load_spec()
    shelf: dict[bytes, object] = {}

    class Dictionary:
        def get(self, name: bytes) -> object:
            return shelf.get(name)

        def put(self, name: bytes, value: object) -> None:
            shelf[name] = value

    edits = frozenset(kata.bugs[0].variants[0])
    recipe = (("seed", 1),)
    change = next(check.vary for check in kata.checks if check.vary)
    keys = [((recipe, frozenset(("gradients",)), other), ()) for other in (None, change)]
    first = Memory(kata, Dictionary())
    taken = Trace(-5, (0.1,) * 6, 1e-5, 0.1, 1e-9, 2.5, 0.0, shows=True, whole=False)
    first.keep_trace(edits, keys[0], taken)
    first.keep()
    second = Memory(kata, Dictionary())
    assert second.trace(edits, keys[0]) == taken
    assert second.trace(edits, keys[1]) is None
    assert second.trace(frozenset(), keys[0]) is None
