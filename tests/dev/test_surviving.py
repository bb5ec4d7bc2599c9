"""What becomes of mutants: counted, listed as equivalent, or told; nothing goes stale."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from grader.catalog import Entry
from grader.dev import pooling, surviving
from grader.dev.surviving import Report, Subject, key_of, measured, stale_entries
from grader.errors import GraderError
from grader.isolation.parent import Job
from grader.model import NamedBug, Status, Verdict

SOURCE = "def center(x):\n    mean = x.mean(dim=-1, keepdim=True)\n    return x - mean\n"
SUBJECT = Subject(Entry(1, "kata01_center"), "solution", SOURCE)


class FakePool:
    """Grades by the text alone: `statuses` maps a piece of text to what is said of it."""

    statuses: dict[str, Status] = {}  # noqa: RUF012 - set by each test

    def __init__(self, *_arguments: object) -> None:
        pass

    def __enter__(self) -> FakePool:
        return self

    def __exit__(self, *_arguments: object) -> None:
        pass

    def grade(self, jobs: Sequence[Job], _progress: object) -> Iterator[Verdict]:
        for job in jobs:
            text = job.source.decode()
            status: Status = "passed" if text == SOURCE else "failed"
            for piece, told in self.statuses.items():
                status = told if piece in text else status
            bug = NamedBug("b", "says", "ask", "exact")
            bugs = (bug,) if status == "failed" and "dim=-2" in text else ()
            yield Verdict("kata01", "center", status, 0.0, 0.0, bugs=bugs)


@pytest.fixture(autouse=True)
def _pool(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pooling, "Pool", FakePool)
    monkeypatch.setattr(FakePool, "statuses", {})


def report_of(reasons: dict[str, str] | None = None) -> Report:
    report = Report()
    for _ in measured([SUBJECT], reasons or {}, report):
        pass
    return report


def test_every_mutant_is_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FakePool, "statuses", {"detach": "passed", "relu": "not_loadable"})
    totals = report_of().whole()
    assert totals.made > 20
    assert totals.made - totals.viable >= 2
    assert totals.viable == totals.killed + totals.equivalent + totals.survived
    assert totals.survived >= 2
    assert totals.named >= 1


def test_a_listed_survivor_is_equivalent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FakePool, "statuses", {"return (x - mean).detach()": "passed"})
    ((subject, mutant),) = report_of().survivors
    key = key_of(subject, mutant)
    assert key == "kata1 solution | center: return x - mean -> return (x - mean).detach()"
    report = report_of({key: "because"})
    assert report.survivors == []
    assert report.whole().equivalent == 1
    assert stale_entries({key: "because"}, report) == []


def test_an_entry_that_is_killed_or_not_made_is_stale() -> None:
    killed = "kata1 solution | center: return x - mean -> return (x - mean).detach()"
    reasons = {killed: "once", "kata1 solution | gone: a -> b": "once"}
    assert stale_entries(reasons, report_of(reasons)) == list(reasons)
    # Of files that were not looked at nothing is known.
    elsewhere = {"kata2 solution | f: a -> b": "because"}
    assert stale_entries(elsewhere, report_of()) == []
    assert stale_entries(elsewhere, report_of(), everything=True) == list(elsewhere)


def test_a_fault_of_the_grader_is_a_survivor_that_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FakePool, "statuses", {"return (x - mean).detach()": "grader_error"})
    report = report_of()
    assert report.whole().survived == 1
    (fault,) = report.faults
    assert "detach" in fault


def test_a_file_must_pass_unchanged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FakePool, "statuses", {SOURCE: "failed"})
    with pytest.raises(GraderError, match="kata1 solution is graded 'failed' with nothing changed"):
        report_of()


class TestCommand:
    @pytest.fixture(autouse=True)
    def _one_kata(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        def subjects(_entries: object, _styles: object) -> list[Subject]:
            return [SUBJECT]

        self.listed = tmp_path / "equivalents.json"
        self.listed.write_text("{}", encoding="utf-8")
        monkeypatch.setattr(surviving, "chosen", subjects)
        monkeypatch.setattr(surviving, "EQUIVALENTS", self.listed)

    def told(self, capsys: pytest.CaptureFixture[str]) -> Any:
        return json.loads(capsys.readouterr().out)

    def test_all_killed(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert surviving.mutate(["kata1", "--json"]) == 0
        data = self.told(capsys)
        keys = ["made", "viable", "killed", "equivalent", "survived", "named"]
        assert list(data["all"]) == list(data["katas"]["kata1"]) == keys
        assert data["all"]["made"] == data["all"]["killed"]
        assert data["survivors"] == []

    def test_a_survivor_is_shown_as_a_diff(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr(FakePool, "statuses", {"return (x - mean).detach()": "passed"})
        assert surviving.mutate(["kata1"]) == 1
        out = capsys.readouterr().out
        assert "-    return x - mean\n+    return (x - mean).detach()" in out
        assert "1 survived" in out

    def test_a_stale_entry_fails(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.listed.write_text('{"because": ["kata1 solution | f: a -> b"]}', encoding="utf-8")
        assert surviving.mutate(["kata1"]) == 1
        assert "no such mutant passes: kata1 solution | f: a -> b" in capsys.readouterr().out

    def test_an_unknown_kata_is_told(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert surviving.mutate(["kata99"]) == 2
        assert "kata99" in capsys.readouterr().err


def test_styles_are_three_at_least_and_in_the_corpus() -> None:
    from grader.dev.styles import STYLES, style_path

    for stem, names in STYLES.items():
        assert len(set(names)) >= 3
        assert all(style_path(stem, name).is_file() for name in names)


def test_every_listed_equivalent_has_a_reason_of_its_own() -> None:
    listed = json.loads(
        Path(surviving.__file__).with_name("equivalents.json").read_text(encoding="utf-8")
    )
    keys = [key for keys in listed.values() for key in keys]
    assert len(set(keys)) == len(keys)
    assert all(len(reason.split()) > 4 for reason in listed)
