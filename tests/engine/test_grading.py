"""From source to verdict, on a kata of our own that no learner edits.

The kata is small on purpose: a function and a layer, with bugs that show in
values, only with a mask, only in gradients, only in place.
"""

from __future__ import annotations

import importlib
import re
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from grader.catalog import find
from grader.engine.bench import Bench, LocalAnswer, Reference
from grader.engine.exploring import smallest_failure
from grader.engine.grading import grade
from grader.engine.mutants import Store
from grader.errors import AnswerEnded
from grader.model import Case, Check, Kata, Outcome, Recipe, Target, Verdict
from grader.patching import bug
from grader.strategies import integer, linear_weights, numbers

SOLUTION = """
from torch import nn

def double(x):
    # Step 1: times two
    return x * 2

class Scale(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.q_proj = nn.Linear(d_model, d_model)

    def forward(self, x, mask=None):
        y = self.q_proj(x)
        if mask is not None:
            y = y.masked_fill(~mask, 0.0)
        y = y - y.mean(-1, keepdim=True)
        y = y * 3
        return y
"""


def build(recipe: Recipe) -> Case:
    from grader.model import Role

    length, seed = integer(recipe, "length", 3), integer(recipe, "seed", 1)
    x = numbers(seed, "x", length, 4)
    if recipe.get("target") == "double":
        return Case("double", {"x": x}, ((length, 4),))
    mask = numbers(seed, "mask", length, 4) > 0 if recipe.get("mask") == "yes" else None
    return Case(
        "Scale",
        {"x": x, "mask": mask},
        ((length, 4),),
        init={"d_model": 4},
        weights=linear_weights(seed, "q_proj", (4, 4)),
        roles=(Role("q_proj", "query"),),
    )


DRAWS = {"length": (1, 4), "seed": (0, 99)}
KATA = Kata(
    number=99,
    stem="kata99_scale",
    title="Scale",
    minutes=1,
    cap_minutes=2,
    targets=(
        Target("double", "function", ("x",)),
        Target("Scale", "module", ("d_model",), ("x", "mask")),
    ),
    build=build,
    checks=(
        Check(
            "doubles", "it doubles", "double", "values",
            bank=({"target": "double"},), draws={"target": ["double"], **DRAWS},
        ),
        Check(
            "values_match", "the values are right", "Scale", "values",
            bank=({}, {"seed": 2}), draws=DRAWS, examples=20,
        ),
        Check(
            "mask_is_applied", "the mask is applied", "Scale", "values",
            bank=({"mask": "yes"}, {"mask": "yes", "seed": 3}),
            draws={**DRAWS, "mask": ["yes"]}, after=("values_match",),
        ),
        Check(
            "gradients_match", "gradients arrive", "Scale", "gradients",
            bank=({"mask": "yes"},), after=("mask_is_applied",),
        ),
        Check("inputs_are_kept", "inputs are kept", "Scale", "inputs_kept", bank=({},)),
        Check("repeats", "it repeats", "Scale", "repeats", bank=({},)),
    ),
    bugs=(
        bug("not-doubled", ("return x * 2", "return x"), says="not doubled", ask="How often?"),
        bug(
            "mask-ignored", ("y = y.masked_fill(~mask, 0.0)", "pass"),
            says="the mask has no effect", ask="What does the mask change?",
        ),
        bug(
            "mask-inverted", ("y = y.masked_fill(~mask, 0.0)", "y = y.masked_fill(mask, 0.0)"),
            says="the mask hides what it should keep", ask="What does True mean?",
        ),
        bug("not-scaled", ("y = y * 3", ""), says="not scaled", ask="Which factor?"),
        bug(
            "mean-kept", ("y = y - y.mean(-1, keepdim=True)", ""),
            says="the mean stays", ask="What is the mean of the result?",
        ),
        bug("detached", ("return y", "return y.detach()"), says="cut off", ask="Who learns?"),
    ),
)  # fmt: skip


def graded(source: str = SOLUTION) -> Verdict:
    return grade(KATA, source.encode(), "answer.py", solution=SOLUTION)


def planted(*pairs: tuple[str, str]) -> str:
    source = SOLUTION
    for old, new in pairs:
        assert source.count(old) == 1
        source = source.replace(old, new)
    return source


def status_of(verdict: Verdict) -> dict[str, str]:
    return {check.name: check.status for check in verdict.checks}


def test_the_solution_passes() -> None:
    verdict = graded()
    assert (verdict.status, verdict.score, verdict.bugs) == ("passed", 1.0, ())
    assert set(status_of(verdict).values()) == {"passed"}


def test_a_bug_is_named_in_another_style() -> None:
    other = planted(
        ("y = self.q_proj(x)", "y = nn.functional.linear(x, self.q_proj.weight, self.q_proj.bias)"),
        ("            y = y.masked_fill(~mask, 0.0)\n", "            y = y * (1 - mask * 1.0)\n"),
    )
    verdict = graded(other)
    assert [(bug.id, bug.confidence) for bug in verdict.bugs] == [("mask-inverted", "exact")]
    assert verdict.bugs[0].matched == verdict.bugs[0].probes > 4


@pytest.mark.parametrize(
    ("pairs", "names"),
    [
        ([("        y = y * 3\n", ""), ("masked_fill(~mask", "masked_fill(mask")],
         {"not-scaled", "mask-inverted"}),
        ([("        y = y * 3\n", ""), ("masked_fill(~mask", "masked_fill(mask"),
          ("        y = y - y.mean(-1, keepdim=True)\n", "")],
         {"not-scaled", "mask-inverted", "mean-kept"}),
        ([("    return x * 2", "    return x"), ("        y = y * 3\n", "")],
         {"not-doubled", "not-scaled"}),
    ],
)  # fmt: skip
def test_several_bugs_are_named_together(pairs: list[tuple[str, str]], names: set[str]) -> None:
    verdict = graded(planted(*pairs))
    assert {bug.id for bug in verdict.bugs} == names
    assert {bug.confidence for bug in verdict.bugs} == {"exact"}


def test_an_unknown_bug_is_not_named_as_a_fact() -> None:
    verdict = graded(planted(("y = y * 3", "y = y * 3.5 + 0.1")))
    assert verdict.status == "failed"
    assert all(bug.confidence == "consistent" for bug in verdict.bugs)
    assert all(bug.matched < bug.probes for bug in verdict.bugs)


def test_an_exception_of_the_same_class_proves_no_bug() -> None:
    verdict = graded(planted(("y = y * 3", "y = y.view(7, 7)")))
    assert verdict.status == "failed"
    assert not [bug for bug in verdict.bugs if bug.confidence == "exact"]
    failed = next(c for c in verdict.checks if c.status == "failed")
    assert failed.line == 18
    assert "RuntimeError" in failed.message
    assert failed.counterexample is not None
    assert ("x", "(1, 4) float64") in failed.counterexample.shapes


def test_the_counterexample_is_the_smallest_and_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "answer.py"
    path.write_text(planted(("masked_fill(~mask", "masked_fill(mask")), encoding="utf-8")
    verdict = grade(KATA, path.read_bytes(), str(path), solution=SOLUTION)
    failed = next(c for c in verdict.checks if c.name == "mask_is_applied")
    assert failed.counterexample is not None
    assert failed.counterexample.recipe["length"] == 1
    script = failed.counterexample.python
    dtype = torch.get_default_dtype()
    try:
        exec(script, {})
    finally:
        torch.set_default_dtype(dtype)
    numbers_got = re.findall(r"-?\d+\.?\d*", failed.counterexample.got)
    printed = re.findall(r"-?\d+\.?\d*", capsys.readouterr().out)
    assert [float(n) for n in printed[: len(numbers_got)]] == pytest.approx(
        [float(n) for n in numbers_got], abs=1e-3
    )


def test_checks_wait_on_those_before_them() -> None:
    status = status_of(graded(planted(("y = y * 3", "y = y * 4"))))
    assert status["values_match"] == "failed"
    assert status["mask_is_applied"] == status["gradients_match"] == "skipped"
    assert status["inputs_are_kept"] == "passed"


def test_endless_recursion_is_no_refusal() -> None:
    refuses = Check("refuses", "it refuses", "double", "raises", bank=({"target": "double"},))
    kata = replace(KATA, targets=KATA.targets[:1], checks=(refuses,))

    def graded_as(body: str) -> Verdict:
        source = f"def double(x):\n    {body}\n"
        return grade(kata, source.encode(), "answer.py", solution=SOLUTION)

    assert graded_as("raise ValueError(x)").status == "passed"
    endless = graded_as("return double(x)")
    assert endless.status == "failed"
    assert endless.score == 0
    assert "RecursionError" in endless.checks[0].message


def test_small_inputs_of_a_function_are_shown_by_their_numbers() -> None:
    def called(length: int) -> str:
        broken = Check("values", "", "double", "values", ({"target": "double", "length": length},))
        kata = replace(KATA, targets=KATA.targets[:1], checks=(broken,))
        verdict = grade(kata, b"def double(x): return x", "answer.py", solution=SOLUTION)
        (check,) = verdict.checks
        assert check.counterexample is not None
        return check.counterexample.called

    assert re.fullmatch(r"double\(x=\[\[[-\d., ]+\]\]\)", called(1))
    assert called(4) == "double(x)   with x (4, 4)"


def test_a_none_that_a_sublayer_is_given_is_shown() -> None:
    kata = find("kata8").load_spec()
    solution = find("kata8").solution_path.read_text()
    call = "self.sublayer(inner, *args, **kwargs)"
    assert call in solution
    given = "{k: v for k, v in kwargs.items() if v is not None}"
    dropped = solution.replace(call, f"self.sublayer(inner, *args, **{given})")
    verdict = grade(kata, dropped.encode(), "answer.py", solution=solution)
    called = [each.counterexample.called for each in verdict.checks if each.counterexample]
    assert any("mask=None" in each for each in called), called


def test_gradients_in_place_changes_and_state_are_seen() -> None:
    assert (
        status_of(graded(planted(("return y\n", "return y.detach()\n"))))["gradients_match"]
        == "failed"
    )
    assert (
        status_of(graded(planted(("y = self.q_proj(x)", "y = self.q_proj(x); x.add_(1)"))))[
            "inputs_are_kept"
        ]
        == "failed"
    )
    stateful = planted(
        ("    def forward(self, x, mask=None):\n",
         "        self.n = 0.0\n    def forward(self, x, mask=None):\n        self.n += 1e-3\n"),
        ("y = y * 3", "y = y * (3 + self.n - 1e-3)"),
    )  # fmt: skip
    assert status_of(graded(stateful))["repeats"] == "failed"


def test_the_same_answer_gets_the_same_verdict() -> None:
    source = planted(("y = y * 3", "y = y * (3 if x.shape[0] < 3 else 4)"))
    first, second = graded(source), graded(source)
    assert first.checks == second.checks
    assert first.bugs == second.bugs


def test_what_is_written_is_graded_and_the_rest_is_named() -> None:
    verdict = graded(planted(("    return x * 2", "    raise NotImplementedError")))
    assert verdict.status == "failed"
    status = status_of(verdict)
    assert status["double_is_written"] == "failed"
    assert status["doubles"] == "skipped"
    assert status["values_match"] == status["gradients_match"] == "passed"


def test_nothing_written_is_not_started() -> None:
    stub = planted(
        ("    return x * 2", "    raise NotImplementedError"),
        ("        y = self.q_proj(x)", "        raise NotImplementedError"),
    )
    verdict = graded(stub)
    assert (verdict.status, verdict.score) == ("not_started", 0.0)


def test_a_missing_target_is_named_and_the_other_graded() -> None:
    verdict = graded(planted(("def double(x):", "def dubble(x):")))
    assert verdict.status == "failed"
    assert verdict.checks[0].message == "no function double in the file; is dubble meant to be it?"
    assert status_of(verdict)["values_match"] == "passed"


@pytest.mark.parametrize("source", ["def f(:\n", "x = 1\n", "import nothing_like_this\n"])
def test_a_file_without_targets_is_not_loadable(source: str) -> None:
    verdict = graded(source)
    assert verdict.status == "not_loadable"
    assert verdict.checks
    assert all(check.message for check in verdict.checks)


def test_a_layer_under_another_name_and_without_bias_is_right() -> None:
    verdict = graded(
        planted(
            (
                "self.q_proj = nn.Linear(d_model, d_model)",
                "self.to_queries = nn.Linear(d_model, d_model, bias=False)",
            ),
            ("y = self.q_proj(x)", "y = self.to_queries(x)"),
        )
    )
    assert verdict.status == "passed"


def test_float32_inside_is_right_with_a_note() -> None:
    verdict = graded(planted(("y = y * 3", "y = (y.float() * 3).double()")))
    assert verdict.status == "passed"
    assert any("float32" in note for note in verdict.notes)


def test_progress_runs_from_nothing_to_all() -> None:
    shares: list[float] = []
    grade(
        KATA, SOLUTION.encode(), "a.py", solution=SOLUTION,
        progress=lambda share, title: shares.append(share),
    )  # fmt: skip
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (0.0, 1.0)


def test_a_difference_that_four_digits_hide_is_told() -> None:
    verdict = graded(planted(("return x * 2", "return x * 2.00004")))
    failed = next(check for check in verdict.checks if check.status == "failed")
    assert failed.counterexample is not None
    assert failed.counterexample.expected == failed.counterexample.got
    assert " instead of " in failed.message


def test_what_is_kept_from_earlier_gradings_changes_no_verdict() -> None:
    """A wrong answer after a right one, and the reverse, as if each were alone."""
    wrong = planted(("y = y * 3", "y = y * 4"))
    masked = planted(("y = y.masked_fill(~mask, 0.0)", "y = y.masked_fill(mask, 0.0)"))
    store = Store(KATA, SOLUTION)
    for source in (SOLUTION, wrong, SOLUTION, masked, wrong, SOLUTION):
        kept = grade(KATA, source.encode(), "answer.py", solution=SOLUTION, store=store)
        assert replace(kept, seconds=0.0) == replace(graded(source), seconds=0.0)


def test_the_smallest_hang_is_looked_for_from_below() -> None:
    """Of all cases tried, only the first one and the smallest one hang."""
    hung: list[int] = []

    class Hanging(LocalAnswer):
        def result(self, *, hurry: bool = False) -> Outcome:
            length = int(self._submitted[0].inputs["x"].shape[0])
            if length >= 3:
                hung.append(length)
                self.restart()
                raise AnswerEnded("timeout", "no answer", line=7)
            return super().result(hurry=hurry)

    verdict = grade(KATA, SOLUTION.encode(), "answer.py", solution=SOLUTION, load=Hanging)
    first = verdict.checks[0]
    assert verdict.status == "timeout"
    assert (first.name, first.line, first.message) == ("answers_in_time", 7, "no answer")
    assert first.counterexample is not None
    assert re.fullmatch(r"double\(x=\[\[.*\]\]\)", first.counterexample.called)
    assert len(hung) == 2


def test_a_case_announced_and_not_asked_for_ends_nothing() -> None:
    """What runs ahead of time may hang; it counts only once it is asked for."""
    kata, runs = KATA, list[str]()

    class Ending(LocalAnswer):
        def result(self, *, hurry: bool = False) -> Outcome:
            seed = str(self._submitted[0].inputs["x"].sum())
            runs.append(seed)
            if len(runs) == 2:
                self.restart()
                raise AnswerEnded("crashed", "gone")
            return super().result(hurry=hurry)

    bench = Bench(kata, Ending(SOLUTION.encode(), "answer.py"), Reference(kata, SOLUTION))
    cases = [bench.case({"target": "double", "seed": seed}) for seed in (1, 2, 3)]
    bench.announce(cases)
    assert bench.got(cases[0]).status == "returned"
    assert bench.got(cases[2]).status == "returned"
    assert bench.got(cases[1]).status == "returned"


def test_a_failure_that_a_fresh_start_does_not_repeat_is_called_so() -> None:
    counting = planted(("return x * 2", "N.append(1); return x * (2 if len(N) < 9 else 3)"))
    verdict = graded("N = []\n" + counting)
    assert verdict.status == "failed"
    assert "on a fresh start the same call does something else" in verdict.notes[0]


def test_what_else_is_loaded_does_not_steer_the_examples(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Hypothesis takes up constants beyond a hundred.
    check = replace(KATA.checks[1], draws={"seed": (0, 9999)})

    def drawn() -> list[Recipe]:
        tried: list[Recipe] = []

        def judge(recipe: Recipe) -> None:
            tried.append(recipe)

        smallest_failure(check, judge, 200, 0)
        return tried

    before = drawn()
    (tmp_path / "decoy_of_constants.py").write_text("A = [1777, 2778, 3779, 4781, 5782, 6783]\n")
    monkeypatch.syspath_prepend(tmp_path)
    importlib.import_module("decoy_of_constants")
    assert drawn() == before
