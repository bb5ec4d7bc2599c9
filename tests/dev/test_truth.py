"""What is said of planted bugs is held to be true: a wrong name is counted as one."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from grader.catalog import find
from grader.dev import attesting, pooling, trying
from grader.dev.assessing import Said, assess
from grader.dev.combining import Parts, Planted, Probes, Sample, combined, singles
from grader.dev.mutating import bare
from grader.dev.pooling import grading
from grader.dev.restyling import KEEPING, restyled
from grader.dev.rewriting import options
from grader.dev.styles import STYLES, accepted
from grader.dev.trying import trials
from grader.engine.bench import Bench, LocalAnswer
from grader.engine.comparing import same_behaviour
from grader.engine.diagnosing import bank, gather
from grader.engine.grading import grade
from grader.engine.mutants import Store
from grader.engine.skimming import Naming, TimedAnswer
from grader.isolation.parent import Job
from grader.model import Edit, Kata, NamedBug, Status, Verdict

ENTRY = find("kata1")
LARGEST = "largest = x.amax(dim=dim, keepdim=True)"
POWERS = "powers = torch.exp(shifted)"


@pytest.fixture(scope="module")
def probes() -> Probes:
    return Probes(ENTRY)


def plant(probes: Probes, *names: str) -> Planted:
    bugs = [bug for bug in probes.kata.bugs if bug.id in names]
    return probes.planted(bugs, tuple(bug.variants[0] for bug in bugs))


def edited(*edits: tuple[str, str]) -> Parts:
    return tuple((Edit(*edit),) for edit in edits)


def exact(name: str, *same_as: str) -> NamedBug:
    return NamedBug(name, "says", "ask", "exact", same_as)


def maybe(name: str) -> NamedBug:
    return NamedBug(name, "says", "ask", "consistent")


def verdict(*bugs: NamedBug, status: Status = "failed") -> Verdict:
    return Verdict("kata01", "softmax-dim", status, 0.0, 0.0, bugs=bugs)


class TestPlanting:
    def test_every_bug_is_planted_alone_twice_where_it_comes_in_variants(
        self, probes: Probes
    ) -> None:
        found = singles(probes, Random(0)).planted
        wanted = [bug.id for bug in probes.kata.bugs for _ in bug.variants[:2]]
        assert [planted.bugs for planted in found] == [(name,) for name in wanted]
        assert len({planted.source for planted in found} | {probes.solution}) == len(found) + 1

    @pytest.mark.parametrize("size", [2, 3])
    def test_sets_are_told_apart_and_the_same_when_drawn_again(
        self, probes: Probes, size: int
    ) -> None:
        sample = combined(probes, size, 5, Random(3))
        assert sample == combined(probes, size, 5, Random(3))
        assert sample != combined(probes, size, 5, Random(4))
        assert len(set(sample.planted)) == 5
        for planted in sample.planted:
            assert len(set(planted.bugs)) == size
            assert probes.fit(planted.parts) == "told apart"

    def test_all_sets_are_planted_or_left_out_for_a_reason(
        self, probes: Probes, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        names = ("softmax-called", "softmax-detached", "softmax-sum-all", "softmax-no-keepdim")
        few = tuple(bug for bug in probes.kata.bugs if bug.id in names)
        monkeypatch.setattr(probes, "kata", replace(probes.kata, bugs=few))
        sample = combined(probes, 2, None, Random(0))
        assert len(sample.planted) + sample.left_out.total() == 6
        assert sample.left_out["masked"] >= 2

    def test_bugs_that_undo_each_other_have_cancelled_out(self, probes: Probes) -> None:
        up = (LARGEST, LARGEST.replace("x.amax", "(x + 1).amax"))
        down = (POWERS, "powers = torch.exp(shifted + 1)")
        assert probes.fit(edited(up, down)) == "cancelled"
        assert probes.fit(edited((POWERS, "powers = torch.exp2(shifted)"))) == "told apart"
        assert probes.fit(edited(up, (LARGEST, "largest = x.amin(dim=dim)"))) == "clashing"
        with_nothing = edited((POWERS, "powers = torch.exp2(shifted)"), (LARGEST, LARGEST))
        assert probes.fit(with_nothing) == "masked"


class TestRestyling:
    def test_the_kinds_are_some_that_there_are(self) -> None:
        kinds = {
            kind
            for stem in STYLES
            for text in list(accepted(find(stem)).values())[:3]
            for kind in options(bare(text))
        }
        assert kinds > KEEPING

    def test_a_style_does_what_was_planted(self, probes: Probes) -> None:
        """On every probe, run as an answer; wrong code too keeps its meaning."""
        kept: set[str] = set()
        for planted in singles(probes, Random(1)).planted[::3]:
            outcomes = [outcomes_of(probes, planted.source)]
            for trial in trials(planted, 5):
                kept.update(trial.kinds)
                outcomes.append(outcomes_of(probes, trial.source))
            for case, *others in zip(*outcomes, strict=True):
                for other in others:
                    assert same_behaviour(case[0], case[1], other[1]), planted
        assert kept <= KEEPING
        assert len(kept) > 3

    def test_styles_are_drawn_the_same_again(self, probes: Probes) -> None:
        planted = plant(probes, "softmax-sum-all")
        assert list(trials(planted, 5)) == list(trials(planted, 5))
        assert len({trial.source for seed in range(3) for trial in trials(planted, seed)}) > 3

    def test_axes_that_wrong_code_makes_up_are_left_alone(self) -> None:
        source = "def f(x, n):\n    return x.view(2, 3, n).transpose(1, 3).transpose(n, 0)\n"
        assert restyled(source, Random(0)).source


def outcomes_of(probes: Probes, source: str) -> list[Any]:
    answer = LocalAnswer(source.encode(), "answer.py")
    bench = Bench(probes.kata, answer, Store(probes.kata, probes.solution).reference)
    return [(each.case, each.got) for each in gather(bench, bank(bench, probes.kata))]


class TestAssessing:
    @pytest.mark.parametrize(
        ("given", "said"),
        [
            (verdict(exact("softmax-base2"), exact("softmax-sum-all")), "right"),
            (verdict(exact("softmax-sum-all"), exact("softmax-base2")), "right"),
            (verdict(exact("softmax-sum-all"), maybe("softmax-twice")), "consistent"),
            (verdict(maybe("softmax-twice")), "consistent"),
            (verdict(), "unknown"),
            (verdict(status="timeout"), "late"),
            (verdict(status="passed"), "passed"),
            (verdict(status="grader_error"), "passed"),
            # Another bug, one of two, one too many, one bug for both, one beside a doubt, and
            # one that is listed as equal and is not.
            (verdict(exact("softmax-twice")), "wrong"),
            (verdict(exact("softmax-sum-all")), "wrong"),
            (
                verdict(exact("softmax-sum-all"), exact("softmax-base2"), exact("softmax-twice")),
                "wrong",
            ),
            (
                verdict(exact("softmax-sum-all", "softmax-base2"), exact("softmax-twice")),
                "wrong",
            ),
            (verdict(exact("softmax-twice"), maybe("softmax-base2")), "wrong"),
            (verdict(exact("softmax-twice", "softmax-base2"), exact("softmax-sum-all")), "wrong"),
        ],
    )
    def test_what_is_said_of_two_bugs(self, probes: Probes, given: Verdict, said: Said) -> None:
        planted = plant(probes, "softmax-base2", "softmax-sum-all")
        assert assess(given, planted, probes) == said

    def test_bugs_are_equal_that_are_declared_or_listed_and_are_so(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        probes = Probes(find("kata0"))
        planted = plant(probes, "key-not-transposed")
        listed = verdict(exact("own-key-only", "key-not-transposed"))
        declared = verdict(exact("own-key-only"))
        assert assess(declared, planted, probes) == "equal"
        monkeypatch.setattr(probes, "kata", replace(probes.kata, equal=()))
        assert assess(listed, planted, probes) == "equal"
        assert assess(declared, planted, probes) == "alike"

    def test_others_that_do_the_same_on_every_probe_are_alike(self, probes: Probes) -> None:
        # Whatever else is done to the numbers, what is called returns before.
        planted = plant(probes, "softmax-called", "softmax-detached")
        assert assess(verdict(exact("softmax-called")), planted, probes) == "alike"
        assert assess(verdict(exact("softmax-detached")), planted, probes) == "wrong"

    def test_one_of_two_targets_explained_is_a_part(self) -> None:
        probes = Probes(find("kata2"))
        planted = plant(probes, "softmax-twice", "value-not-projected")
        for name, said in (("softmax-twice", "part"), ("value-not-projected", "wrong")):
            assert assess(verdict(exact(name)), planted, probes) == said


class FakePool:
    """Grades in this process; `kata` is what it knows, and may be other than the truth."""

    kata: Kata
    store: Store
    jobs: list[Job] = []  # noqa: RUF012 - set by each test

    def __init__(self, *_arguments: object) -> None:
        pass

    def __enter__(self) -> FakePool:
        return self

    def __exit__(self, *_arguments: object) -> None:
        pass

    def grade(self, jobs: Sequence[Job], _progress: object) -> Iterator[Verdict]:
        for job in jobs:
            self.jobs.append(job)
            yield grade(
                self.kata,
                job.source,
                job.path,
                examples=0,
                store=self.store,
                load=TimedAnswer,
                how=Naming,
            )


def renamed(kata: Kata, one: str, other: str) -> Kata:
    """Return the kata with the names of two bugs exchanged."""
    names = {one: other, other: one}
    bugs = [replace(bug, id=names.get(bug.id, bug.id)) for bug in kata.bugs]
    return replace(kata, bugs=tuple(bugs))


class TestCommand:
    PLANTED = ("softmax-base2", "softmax-sum-all")

    @pytest.fixture(autouse=True)
    def _few(self, monkeypatch: pytest.MonkeyPatch, probes: Probes) -> None:
        def few(known: Probes, _pick: Random) -> Sample:
            pair = plant(known, *self.PLANTED)
            return Sample((*(plant(known, name) for name in self.PLANTED), pair))

        def none(*_arguments: object) -> Sample:
            return Sample(())

        monkeypatch.setattr(trying, "singles", few)
        monkeypatch.setattr(trying, "combined", none)
        monkeypatch.setattr(pooling, "Pool", FakePool)
        monkeypatch.setattr(FakePool, "kata", probes.kata, raising=False)
        store = Store(probes.kata, probes.solution)
        monkeypatch.setattr(FakePool, "store", store, raising=False)
        monkeypatch.setattr(FakePool, "jobs", [])

    def test_all_is_named_in_every_style(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert attesting.truth(["kata1", "--json"]) == 0
        data = json.loads(capsys.readouterr().out)
        styles = data["katas"]["kata1"]["styles"]
        assert list(styles) == ["solution", "second", "third"]
        assert all((of["graded"], of["right"]) == (3, 3) for of in styles.values())
        assert data["all"]["bugs"]["2"]["right"] == 3
        assert data["faults"] == []
        assert {job.depth for job in FakePool.jobs} == {"diagnosed"}

    def test_a_wrong_name_is_a_fault(
        self,
        probes: Probes,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        liar = renamed(probes.kata, "softmax-base2", "softmax-twice")
        monkeypatch.setattr(FakePool, "kata", liar)
        assert attesting.truth(["kata1", "--plain"]) == 1
        out = capsys.readouterr().out
        assert "kata1 WRONG softmax-base2 (1 of 1), style solution\n" in out
        assert "failed: exactly softmax-twice, " in out
        assert "+    powers = torch.exp2(shifted)" in out
        # What is wrong at first is graded once more, as a learner's answer would be.
        assert [job.depth for job in FakePool.jobs].count("full") == 6

    def test_what_is_right_in_full_is_no_fault(
        self,
        probes: Probes,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        class Blind(FakePool):
            def grade(self, jobs: Sequence[Job], _progress: object) -> Iterator[Verdict]:
                for job, seen in zip(jobs, super().grade(jobs, None), strict=True):
                    yield verdict(status="passed") if job.depth == "diagnosed" else seen

        monkeypatch.setattr(pooling, "Pool", Blind)
        assert attesting.truth(["kata1", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["all"]["bugs"]["1"]["right"] == 6

    def test_a_bug_that_nobody_notices_is_a_fault(
        self,
        probes: Probes,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        monkeypatch.setattr(FakePool, "kata", replace(probes.kata, checks=()))
        assert attesting.truth(["kata1", "--json"]) == 1
        data = json.loads(capsys.readouterr().out)
        assert data["all"]["styles"]["second"]["passed"] == 3
        assert data["faults"][0]["planted"] == ["softmax-base2"]
        assert "exp2" in data["faults"][0]["source"]

    @pytest.mark.parametrize("words", [["--pairs", "few"], ["--triples", "-1"], ["kata99"]])
    def test_wrong_use_is_told(self, words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
        assert attesting.truth(words) == 2
        assert words[-1] in capsys.readouterr().err


def test_the_grading_process_names_what_is_planted(probes: Probes) -> None:
    planted = plant(probes, "softmax-base2", "softmax-sum-all")
    with grading() as grade_all:
        jobs = [trial.job() for trial in trials(planted, 0)][:2]
        found = list(grade_all(jobs))
    assert [assess(each, planted, probes) for each in found] == ["right", "right"]
