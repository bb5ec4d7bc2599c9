"""What is kept from one command to the next makes it faster, and changes nothing else."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from grader.engine.mutants import Store
from grader.isolation import shelf as shelves
from grader.isolation.shelf import FileShelf, path_of_shelf

WRONG = "kata03_multi_head_self_attention/wrong"


def graded(repository: Path, cache: Path | str) -> dict[str, Any]:
    """Grade a wrong answer by a command; return its verdict without the time it took."""
    answer = min((repository / "tests" / "submissions" / WRONG).glob("*.py"))
    command = [sys.executable, "-m", "grader", "kata3", "--json", f"--file={answer}"]
    environment = {**os.environ, "GRADER_CACHE": str(cache)}
    done = subprocess.run(
        command, cwd=repository, env=environment, capture_output=True, encoding="utf-8", check=False
    )
    assert (done.returncode, done.stderr) == (1, "")
    record: dict[str, Any] = json.loads(done.stdout)
    del record["seconds"]
    return record


@pytest.fixture(scope="module")
def verdict(repository: Path) -> dict[str, Any]:
    return graded(repository, "")


def rows(path: Path) -> int:
    database = sqlite3.connect(path)
    try:
        return int(database.execute("select count(*) from known").fetchone()[0])
    finally:
        database.close()


def test_the_second_command_starts_from_what_the_first_found(
    repository: Path, tmp_path: Path, verdict: dict[str, Any]
) -> None:
    assert graded(repository, tmp_path) == verdict
    found = rows(tmp_path / "known.db")
    assert found > 100
    assert [path.name for path in tmp_path.iterdir()] == ["known.db"]
    assert graded(repository, tmp_path) == verdict
    assert rows(tmp_path / "known.db") == found


def test_what_was_kept_is_used(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With every mutant's trace at hand, the second search runs the few that fit."""
    from grader import catalog
    from grader.engine import mutants
    from grader.engine.grading import grade

    entry = catalog.find("kata3")
    kata, solution = entry.load_spec(), entry.solution_path.read_text(encoding="utf-8")
    answer = min((repository / "tests" / "submissions" / WRONG).glob("*.py")).read_bytes()
    runs = 0
    original = mutants.execute

    def counted(*arguments: Any) -> Any:
        nonlocal runs
        runs += 1
        return original(*arguments)

    monkeypatch.setattr(mutants, "execute", counted)
    counts: list[int] = []
    for _ in range(2):
        runs = 0
        place = FileShelf(tmp_path / "known.db", "this")
        store = Store(kata, solution, place)
        grade(kata, answer, "x.py", solution=solution, store=store)
        store.memory.keep()
        place.save()
        place.close()
        counts.append(runs)
    assert counts[1] < counts[0] / 2


@pytest.mark.parametrize(
    "content", [b"no database" * 500, b"", b"SQLite format 3\0" + b"\xff" * 5000]
)
def test_a_damaged_file_costs_nothing(
    repository: Path, tmp_path: Path, verdict: dict[str, Any], content: bytes
) -> None:
    (tmp_path / "known.db").write_bytes(content)
    assert graded(repository, tmp_path) == verdict
    assert graded(repository, tmp_path) == verdict
    assert rows(tmp_path / "known.db") > 100


def test_a_folder_that_cannot_be_made_costs_nothing(
    repository: Path, tmp_path: Path, verdict: dict[str, Any]
) -> None:
    (tmp_path / "file").write_text("in the way")
    assert graded(repository, tmp_path / "file" / "below") == verdict


def test_a_file_that_another_holds_costs_nothing(
    repository: Path, tmp_path: Path, verdict: dict[str, Any]
) -> None:
    holder = sqlite3.connect(tmp_path / "known.db", isolation_level=None)
    holder.execute("create table t (x)")
    holder.execute("begin exclusive")
    assert graded(repository, tmp_path) == verdict
    holder.close()


def test_other_code_begins_anew(tmp_path: Path) -> None:
    one = FileShelf(tmp_path / "known.db", "one")
    one.put(b"name", ("value", 1))
    assert one.get(b"name") == ("value", 1)
    one.save()
    one.close()
    assert _read(tmp_path, "one") == ("value", 1)
    assert _read(tmp_path, "other") is None
    assert _read(tmp_path, "one") is None


def _read(folder: Path, about: str) -> object:
    place = FileShelf(folder / "known.db", about)
    try:
        return place.get(b"name")
    finally:
        place.close()


def test_a_large_file_begins_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shelves, "LARGEST", 1000)
    place = FileShelf(tmp_path / "known.db", "same")
    place.put(b"name", "x" * 2000)
    place.save()
    place.close()
    assert _read(tmp_path, "same") is None


def test_rows_that_are_no_frames_count_as_unknown(tmp_path: Path) -> None:
    place = FileShelf(tmp_path / "known.db", "same")
    place.close()
    database = sqlite3.connect(tmp_path / "known.db")
    with database:
        database.execute("insert into known values (?, ?)", (b"name", b"\0" * 40))
    database.close()
    assert _read(tmp_path, "same") is None


def test_where_the_file_is(monkeypatch: pytest.MonkeyPatch, repository: Path) -> None:
    monkeypatch.setenv("GRADER_CACHE", "/there")
    assert path_of_shelf() == Path("/there/known.db")
    monkeypatch.delenv("GRADER_CACHE")
    assert path_of_shelf() == repository / ".grader" / "known.db"
