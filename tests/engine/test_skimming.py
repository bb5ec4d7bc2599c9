"""Gradings that stop at the first failure say passed and failed as full ones do."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.dev.mutating import mutants
from grader.dev.templates import spec as template
from grader.engine import mutants as engine_mutants
from grader.engine import skimming
from grader.engine.grading import Grading, grade
from grader.engine.mutants import Store
from grader.engine.skimming import Naming, Skimming, TimedAnswer, Unnamed
from grader.model import Verdict

KATA = template.KATA
SOLUTION = Path(template.__file__).with_name("solution.py").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def store() -> Store:
    return Store(KATA, SOLUTION)


def skimmed(source: str, store: Store, how: type[Grading] = Skimming) -> Verdict:
    return grade(
        KATA,
        source.encode(),
        "answer.py",
        solution=SOLUTION,
        store=store,
        load=TimedAnswer,
        how=how,
    )


def test_a_right_answer_passes_with_all_required_checks(store: Store) -> None:
    verdict = skimmed(SOLUTION, store)
    assert verdict.status == "passed"
    assert [check.name for check in verdict.checks] == ["values_agree", "input_is_kept"]


def test_says_of_every_mutant_what_a_full_grading_says(store: Store) -> None:
    statuses: set[str] = set()
    for mutant in mutants(SOLUTION):
        full = grade(KATA, mutant.source.encode(), "a.py", solution=SOLUTION, store=store)
        brief = skimmed(mutant.source, store)
        assert brief.status == full.status, mutant.change
        named = {(bug.id, bug.confidence) for bug in brief.bugs}
        assert named <= {(bug.id, bug.confidence) for bug in full.bugs}
        statuses.add(full.status)
    assert statuses >= {"passed", "failed"}


def test_naming_says_all_but_the_cases(store: Store) -> None:
    wrong = SOLUTION.replace("dim=-1", "dim=0")
    full = grade(KATA, wrong.encode(), "a.py", solution=SOLUTION, store=store)
    brief = skimmed(wrong, store, Naming)
    assert (brief.status, brief.bugs) == (full.status, full.bugs)
    assert [(c.name, c.status) for c in brief.checks] == [(c.name, c.status) for c in full.checks]
    assert all(check.counterexample is None for check in brief.checks)
    assert skimmed(SOLUTION, store, Naming).status == "passed"


def test_what_is_known_of_mutants_is_dropped_once_it_is_much(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wrong, store = SOLUTION.replace("dim=-1", "dim=0"), Store(KATA, SOLUTION)
    first = skimmed(wrong, store, Naming)
    known = len(store.outcomes)
    store.tidy()
    assert len(store.outcomes) == known > 0
    monkeypatch.setattr(engine_mutants, "MOST_OUTCOMES", known - 1)
    store.tidy()
    assert not store.outcomes
    assert skimmed(wrong, store, Naming).bugs == first.bugs


def test_names_a_bug_that_explains_everything_alone(store: Store) -> None:
    wrong = SOLUTION.replace("dim=-1", "dim=0")
    assert [bug.id for bug in skimmed(wrong, store).bugs] == ["mean-over-batch"]
    assert skimmed(wrong, store, Unnamed).status == "failed"
    assert skimmed(wrong, store, Unnamed).bugs == ()


@pytest.fixture
def _hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(skimming, "CALL_LIMIT", 0.2)


@pytest.mark.usefixtures("_hurried")
@pytest.mark.parametrize("body", ["while True: pass", "for _ in iter(int, 1): x + 1"])
def test_an_endless_call_ends(store: Store, body: str) -> None:
    verdict = skimmed(f"def center(x):\n    {body}\n", store)
    assert verdict.status == "timeout"


@pytest.mark.usefixtures("_hurried")
def test_an_endless_call_that_swallows_everything_ends(store: Store) -> None:
    source = (
        "def center(x):\n    while True:\n        try:\n            x + 1\n"
        "        except ValueError:\n            pass\n"
    )
    assert skimmed(source, store).status == "timeout"


@pytest.mark.usefixtures("_hurried")
def test_a_file_that_hangs_while_it_is_loaded_ends(store: Store) -> None:
    assert skimmed("while True: pass\n", store).status in ("timeout", "not_loadable")
