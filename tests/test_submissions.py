"""Every submission of the corpus gets its golden verdict.

`golden.json` beside the submissions says what is true of each: passed, or
failed with these bugs. It was written with the submission, never copied from
what the grader said.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from grader import catalog
from grader.engine.grading import grade
from grader.engine.mutants import Store
from grader.model import Verdict

CORPUS = Path(__file__).parent / "submissions"
STEMS = [entry.stem for entry in catalog.katas()]


def golden(stem: str) -> dict[str, dict[str, Any]]:
    return json.loads((CORPUS / stem / "golden.json").read_text(encoding="utf-8"))


def submissions() -> list[Any]:
    return [
        pytest.param(stem, name, truth, id=f"{stem[:6]}-{name.removesuffix('.py')}")
        for stem in STEMS
        for name, truth in golden(stem).items()
    ]


@cache
def store(stem: str) -> Store:
    """Return what is known of a kata's solution; kept, as between the gradings of one command."""
    (solution,) = (each.solution_path for each in catalog.katas() if each.stem == stem)
    return Store(catalog.load_spec(stem), solution.read_text(encoding="utf-8"))


def named(verdict: Verdict) -> list[set[str]]:
    """Return, for each bug stated as a fact, the ids it is known by."""
    return [{bug.id, *bug.same_as} for bug in verdict.bugs if bug.confidence == "exact"]


@pytest.mark.parametrize(("stem", "name", "truth"), submissions())
def test_golden_verdict(stem: str, name: str, truth: dict[str, Any]) -> None:
    kata, kept = catalog.load_spec(stem), store(stem)
    verdict = grade(kata, (CORPUS / stem / name).read_bytes(), name, store=kept)
    reasons = [(c.name, c.message) for c in verdict.checks if c.status == "failed"]
    assert verdict.status == truth["status"], reasons
    for text in truth.get("notes", ()):
        assert any(text in note for note in verdict.notes), verdict.notes
    found, wanted = named(verdict), list(truth.get("bugs", ()))
    assert len(found) == len(wanted), (found, reasons)
    for bug in wanted:
        assert any(bug in ids for ids in found), (found, reasons)


@pytest.mark.parametrize("stem", STEMS)
def test_corpus_is_complete(stem: str) -> None:
    truths = golden(stem)
    files = {path.relative_to(CORPUS / stem).as_posix() for path in (CORPUS / stem).glob("*/*.py")}
    assert files == set(truths), "every submission has a golden verdict, and the reverse"
    right = [name for name in truths if name.startswith("right/")]
    wrong = {name: truth for name, truth in truths.items() if name.startswith("wrong/")}
    assert all(truths[name]["status"] == "passed" for name in right)
    assert all(truth["status"] == "failed" for truth in wrong.values())
    several = [name for name, truth in wrong.items() if len(truth["bugs"]) > 1]
    assert len(right) >= 9
    assert len(wrong) >= 12
    assert len(several) * 3 >= len(wrong), "a third of the wrong ones hold two or three bugs"
