"""The script of a counterexample shows what the check saw, calls before and after included."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch

from grader import catalog
from grader.engine.grading import grade
from grader.model import Counterexample

CORPUS = Path(__file__).parents[1] / "submissions"


def counterexample(stem: str, name: str, check: str) -> Counterexample:
    path = CORPUS / stem / "wrong" / name
    (solution,) = (each.solution_path for each in catalog.katas() if each.stem == stem)
    verdict = grade(
        catalog.load_spec(stem),
        path.read_bytes(),
        str(path),
        solution=solution.read_text(encoding="utf-8"),
    )
    (found,) = (each.counterexample for each in verdict.checks if each.name == check)
    assert found is not None
    return found


def printed(script: str, capsys: pytest.CaptureFixture[str]) -> str:
    dtype = torch.get_default_dtype()
    capsys.readouterr()
    try:
        exec(script, {})
    finally:
        torch.set_default_dtype(dtype)
    return capsys.readouterr().out


def test_the_script_makes_the_earlier_call_too(capsys: pytest.CaptureFixture[str]) -> None:
    case = counterexample(
        "kata03_multi_head_self_attention",
        "keeps_the_last_token.py",
        "earlier_calls_leave_no_trace",
    )
    assert "after a call with other values" in case.called
    right = float(re.findall(r"-?\d+\.\d+", case.expected)[0])
    alone = re.sub(r"(?m)^layer\(.*\n", "", case.python)
    assert alone != case.python

    def first(script: str) -> float:
        return float(re.findall(r"-?\d+\.\d+", printed(script, capsys))[0])

    assert first(alone) == pytest.approx(right, abs=1e-3)
    assert first(case.python) != pytest.approx(right, abs=1e-3)


def test_the_earlier_call_comes_before_the_conversion(capsys: pytest.CaptureFixture[str]) -> None:
    case = counterexample(
        "kata05_positional_encoding", "table_of_the_first_call.py", "follows_to_bfloat16"
    )
    assert "after a call with x (1, 7, 12)" in case.called
    assert "bfloat16" in case.called
    # PyTorch prints the dtype wherever it is not the default: here it is float32.
    assert "dtype" not in printed(case.python, capsys)
    assert case.got == "dtype float32"


def test_the_script_calls_again_where_the_second_call_differs(
    capsys: pytest.CaptureFixture[str],
) -> None:
    case = counterexample("kata05_positional_encoding", "wears_out.py", "repeats")
    first, second = re.findall(r"tensor\(.*?\)\n", printed(case.python, capsys), re.DOTALL)
    assert first != second


def test_the_script_does_not_wake_a_layer_that_the_constructor_put_to_rest(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    entry = catalog.find("kata8")
    source = entry.solution_path.read_text(encoding="utf-8")
    rested = source.replace("nn.Dropout(dropout)", "nn.Dropout(dropout).eval()")
    assert rested != source
    path = tmp_path / "rested.py"
    path.write_text(rested, encoding="utf-8")
    verdict = grade(entry.load_spec(), rested.encode(), str(path), solution=source)
    shown = next(c.counterexample for c in verdict.checks if c.status == "failed")
    assert shown is not None
    assert "train mode" in shown.called
    wrong = float(re.findall(r"-?\d+\.\d+", shown.got)[0])
    assert float(re.findall(r"-?\d+\.\d+", printed(shown.python, capsys))[0]) == pytest.approx(
        wrong, abs=1e-3
    )
