"""The warm-up: a first run that fails and says why, one letter mended, a second that passes.

It is there to be done once: what is drawn or comes back leaves it out.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from grader import catalog
from grader.errors import UsageError
from grader.isolation.reading import handed_out, read, state, stub, unwritten
from grader.practice.interviews import FORMATS, plan
from grader.stubs import generate

STEM = "kata00_warm_up"
SLIP, MENDED = "scores = q @ v.T", "scores = q @ k.T"

RunPython = Callable[..., "subprocess.CompletedProcess[str]"]
Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def file(copy: Path) -> Path:
    """The file to edit, as it is handed out; in this checkout somebody may have mended it."""
    path = copy / "katas" / f"{STEM}.py"
    path.write_text(stub(catalog.find("kata0")), encoding="utf-8")
    return path


@pytest.fixture
def run(copy: Path, run_python: RunPython) -> Run:
    return lambda *words: run_python(copy, "-m", "grader", *words)


def row(run: Run) -> dict[str, Any]:
    return json.loads(run("list", "--json").stdout)[0]


def test_the_whole_loop(file: Path, run: Run) -> None:
    first = run("kata0", "--plain")
    assert first.returncode == 1, first.stderr
    assert first.stdout.startswith("FAIL  kata0 - ")
    assert "behaves exactly like key-is-value on all" in first.stdout
    assert "next      Which of q, k and v" in first.stdout
    assert "Traceback" not in first.stdout
    assert run("hint", "kata0").stdout.startswith("hint 1 of 6: your bug\nWhich of q, k and v")
    assert run("hint", "kata0").stdout.startswith("hint 2 of 6: concept\n")
    text = file.read_text(encoding="utf-8")
    assert text.count(SLIP) == 1
    file.write_text(text.replace(SLIP, MENDED), encoding="utf-8")
    second = run("kata0", "--plain")
    assert second.returncode == 0, second.stdout
    assert second.stdout.startswith("PASS  kata0 - ")
    assert row(run)["state"] == "passed"


def test_it_comes_first_and_is_to_be_run_before_it_is_read(file: Path, run: Run) -> None:
    for stem in [entry.stem for entry in catalog.katas()]:
        path = file.with_name(f"{stem}.py")
        path.write_text(stub(catalog.find(stem)), encoding="utf-8")
    first = row(run)
    assert (first["name"], first["state"], first["whole"]) == ("kata0", "not started", True)
    assert "next      python -m grader kata0\n" in run().stdout
    assert "open" not in run().stdout
    # Once it failed, there is something to mend.
    assert run("kata0").returncode == 1
    assert "open      katas/kata00_warm_up.py\n  then      python -m grader kata0\n" in run().stdout
    # Once it is mended, the next one is to be opened.
    file.write_text(file.read_text("utf-8").replace(SLIP, MENDED), encoding="utf-8")
    assert "next      python -m grader kata1" in run("kata0", "--plain").stdout


@pytest.mark.parametrize("name", ["kata0", "0", "kata00", "00", "KATA0", "warm-up", "warm", STEM])
def test_every_way_to_call_it(name: str) -> None:
    assert catalog.find(name).stem == STEM


def test_a_blank_one_is_not_started(file: Path, run: Run) -> None:
    assert run("dev", "stubs", "kata0", "--level", "blank").returncode == 0
    text = file.read_text(encoding="utf-8")
    assert text.endswith('    """\n    raise NotImplementedError\n')
    done = run("kata0")
    assert done.returncode == 3
    assert done.stdout.startswith("NOT STARTED")
    assert row(run)["state"] == "not started"
    # And back: what a level generates is nobody's work.
    assert run("dev", "stubs", "kata0").returncode == 0
    assert SLIP in file.read_text(encoding="utf-8")


def test_a_mended_one_is_left_alone_and_kept(file: Path, run: Run) -> None:
    mended = file.read_text(encoding="utf-8").replace(SLIP, MENDED)
    file.write_text(mended, encoding="utf-8")
    done = run("dev", "stubs", "kata0")
    assert done.returncode == 1
    assert "edited, left alone" in done.stdout
    assert run("dev", "stubs", "kata0", "--force").returncode == 0
    assert SLIP in file.read_text(encoding="utf-8")
    (kept,) = (file.parents[1] / ".grader" / "backups").iterdir()
    assert kept.read_text(encoding="utf-8") == mended


def test_only_the_one_letter_differs_from_the_solution(repository: Path) -> None:
    entry = catalog.find("kata0")
    solution = (repository / "solutions" / f"{STEM}.py").read_text(encoding="utf-8")
    assert stub(entry).replace(SLIP, MENDED) == solution
    assert handed_out(entry.load_spec(), solution, "blank") == generate(solution, "blank")


def test_untouched_it_is_graded_yet_not_begun(tmp_path: Path) -> None:
    entry = catalog.Entry(0, STEM, tmp_path)
    for path, text in (
        (entry.solution_path, catalog.find("kata0").solution_path.read_text("utf-8")),
        (entry.spec_path, catalog.find("kata0").spec_path.read_text("utf-8")),
    ):
        path.parent.mkdir(parents=True)
        path.write_text(text, encoding="utf-8")
    entry.stub_path.parent.mkdir()
    assert state(entry) == "missing"
    # With other line ends, as an editor leaves them, it is the same file.
    untouched = stub(entry).replace("\n", "\r\n").encode()
    entry.stub_path.write_bytes(untouched)
    assert state(entry) == "not started"
    assert read(entry, entry.stub_path, "shown") == untouched
    assert not unwritten(entry, untouched)


def test_it_never_comes_back(file: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    file.write_text(file.read_text("utf-8").replace(SLIP, MENDED), encoding="utf-8")
    passed = run("kata0", "--plain")
    assert passed.returncode == 0, passed.stdout
    assert "rated" not in passed.stdout
    assert row(run)["due"] == ""
    monkeypatch.setenv("GRADER_CLOCK", "0@4000000000")
    assert run("list", "--due").stdout == "nothing is due today\n"
    done = run("review", "kata0", "--rate", "good")
    assert done.returncode == 2
    assert done.stderr == "kata0 is a warm-up, which never comes back: no need to rate\n"


@pytest.mark.parametrize("words", ["debug kata0", "interview start --katas kata3,kata0"])
def test_it_is_refused_where_another_kata_would_do(run: Run, words: str) -> None:
    done = run(*words.split())
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("kata0 ")
    assert done.stderr.count("\n") == 1


def test_no_interview_draws_it() -> None:
    for kind in FORMATS:
        for seed in range(30):
            rounds = plan(kind, None, (), catalog.katas(), seed).rounds
            assert "warm-up" not in [each.slug for each in rounds]
    with pytest.raises(UsageError):
        plan("screen", None, [catalog.find("kata0")], catalog.katas(), 0)


def test_the_solution_is_the_one_letter(
    file: Path, copy: Path, run_python: RunPython, tmp_path: Path
) -> None:
    typed = tmp_path / "typed"
    typed.write_text("give up\n")
    with typed.open() as stdin:
        done = run_python(copy, "-m", "grader", "solution", "kata0", "--plain", stdin=stdin)
    assert done.returncode == 0, done.stderr
    assert "due again" not in done.stdout
    assert [line for line in done.stdout.splitlines() if re.match(r"[-+] ", line)] == [
        "-    scores = q @ v.T  # (3, 3), one row for each query",
        "+    scores = q @ k.T  # (3, 3), one row for each query",
    ]


def test_reset_puts_the_slip_back_and_restore_the_mend(file: Path, run: Run) -> None:
    slipped = file.read_text(encoding="utf-8")
    mended = slipped.replace(SLIP, MENDED)
    file.write_text(mended, encoding="utf-8")
    assert run("reset", "kata0").returncode == 1, "nobody there to agree"
    assert file.read_text(encoding="utf-8") == mended
    assert run("reset", "kata0", "--yes").returncode == 0
    assert file.read_text(encoding="utf-8") == slipped
    assert run("restore", "kata0").returncode == 0
    assert file.read_text(encoding="utf-8") == mended
    assert run("reset", "kata0", "--level", "blank", "--yes").returncode == 0
    assert file.read_text(encoding="utf-8").endswith("    raise NotImplementedError\n")
