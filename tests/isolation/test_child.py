"""What answers do to the process that runs them, and what is left of it (tests/stage)."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Grade = Callable[..., "list[dict[str, Any]]"]


@pytest.fixture
def stage(tmp_path: Path, repository: Path) -> Path:
    """A project of three small katas, whose engine needs no torch."""
    root = tmp_path / "stage"
    ignore = shutil.ignore_patterns("__pycache__", "engine", "specs")
    shutil.copytree(repository / "grader", root / "grader", ignore=ignore)
    shutil.copytree(repository / "tests" / "stage", root, dirs_exist_ok=True)
    (tmp_path / "temporary").mkdir()
    return root


@pytest.fixture
def grade(stage: Path, tmp_path: Path) -> Grade:
    """Grade bodies of answer(), one for each kata, and check that nothing is left over."""

    def run(*bodies: str, timeout: str = "10", jobs: str = "1") -> list[dict[str, Any]]:
        names: list[str] = []
        for number, body in enumerate(bodies, start=1):
            (path,) = (stage / "katas").glob(f"kata0{number}_*.py")
            lines = "\n".join(f"    {line}" for line in body.splitlines())
            path.write_text(f"import os, sys, time\n\ndef answer():\n{lines}\n")
            names.append(f"kata{number}")
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "grader",
                *names,
                "--json",
                "--timeout",
                timeout,
                "--jobs",
                jobs,
            ],
            cwd=stage,
            env=os.environ
            | {
                "PYTHONPATH": str(stage),
                "PYTHONDONTWRITEBYTECODE": "1",
                "TMPDIR": str(tmp_path / "temporary"),
            },
            capture_output=True,
            encoding="utf-8",
            timeout=60,
            check=False,
        )
        assert done.stderr == ""
        assert list((tmp_path / "temporary").iterdir()) == []
        records = json.loads(done.stdout)
        return records if len(bodies) > 1 else [records]

    return run


def message(record: dict[str, Any]) -> str:
    return record["checks"][0]["message"]


def test_one_child_grades_several_jobs(grade: Grade) -> None:
    body = "print(os.getpid())"
    first, second = grade(body, body)
    assert first["status"] == second["status"] == "passed"
    assert first["notes"][-1].startswith("the answer printed 1 line: ")
    assert first["notes"][-1] == second["notes"][-1]


def test_several_children_grade_side_by_side_and_the_order_stays(grade: Grade) -> None:
    slow, quick = grade("time.sleep(1)\nprint(os.getpid())", "print(os.getpid())", jobs="2")
    assert (slow["kata"], quick["kata"]) == ("kata01", "kata02")
    assert slow["notes"][-1] != quick["notes"][-1]


def test_an_endless_loop_is_a_timeout_with_its_line_and_the_next_job_goes_on(grade: Grade) -> None:
    began = time.monotonic()
    loop, after = grade("while True:\n    pass", "return 42", timeout="0.5")
    assert time.monotonic() - began < 10
    assert loop["status"] == "timeout"
    assert loop["checks"][0]["name"] == "answers_in_time"
    assert "not graded within 0.5 s: the answer is slow, or the machine is" in message(loop)
    assert "while checking: it answers" in message(loop)
    assert loop["checks"][0]["line"] in (4, 5)
    assert loop["path"] == "katas/kata01_echo.py"
    assert after["status"] == "passed"


@pytest.mark.parametrize(
    "body",
    [
        "time.sleep(60)",
        "while True:\n    try:\n        time.sleep(1)\n    except BaseException:\n        pass",
        "import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, range(1, 64))\ntime.sleep(60)",
        "sum(iter(int, 1))",
        "import ctypes\nctypes.PyDLL(None).sleep(60)",
    ],
)
def test_whatever_hangs_is_ended(grade: Grade, body: str) -> None:
    (record,) = grade(body, timeout="0.5")
    assert record["status"] == "timeout"


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("os._exit(3)", "exit code 3"),
        ("os._exit(0)", "exit code 0"),
        ("import ctypes\nctypes.string_at(0)", "a segmentation fault (SIGSEGV)"),
        ("os.abort()", "it aborted (SIGABRT)"),
        ("os.kill(os.getpid(), 9)", "killed from outside (SIGKILL)"),
        ("os.closerange(3, 1000)", "exit code 1"),
        ("os.closerange(3, 1000)\ntime.sleep(60)", "the connection to the grader was closed"),
    ],
)
def test_a_death_without_verdict_is_a_crash_and_the_next_job_goes_on(
    grade: Grade, body: str, says: str
) -> None:
    crash, after = grade(body, "return 42")
    assert crash["status"] == "crashed"
    assert crash["checks"][0]["name"] == "runs_to_the_end"
    assert says in message(crash)
    assert after["status"] == "passed"


def test_a_segmentation_fault_has_the_line_of_the_answer(grade: Grade) -> None:
    (crash,) = grade("import ctypes\nctypes.string_at(0)")
    assert crash["checks"][0]["line"] == 5
    assert "in line 5: ctypes.string_at(0)" in message(crash)


def test_running_out_of_memory_is_called_so(grade: Grade) -> None:
    (own,) = grade('raise MemoryError("40 GB")')
    assert own["status"] == "memory"
    assert own["checks"][0]["name"] == "fits_in_memory"
    assert "40 GB" in message(own)


def test_a_flood_of_prints_neither_blocks_nor_shows(grade: Grade) -> None:
    (record,) = grade("for n in range(200_000):\n    print('flood', n)")
    assert record["status"] == "passed"
    assert record["notes"][-1] == "the answer printed 200000 lines, first: flood 0"


def test_prints_of_one_job_are_not_the_next_ones(grade: Grade) -> None:
    loud, quiet = grade("print('a')\nos.write(2, b'b')", "return 42")
    assert loud["notes"][-1] == "the answer printed 2 lines, first: a"
    assert not any("printed" in note for note in quiet["notes"])


def test_there_is_no_keyboard(grade: Grade) -> None:
    (record,) = grade("assert sys.stdin.read() == '', 'stdin is open'")
    assert record["status"] == "passed"


def test_the_answer_runs_in_an_empty_folder_that_goes_away(grade: Grade, stage: Path) -> None:
    before = sorted(path for path in stage.rglob("*") if path.suffix != ".pyc")
    (record,) = grade("assert os.listdir() == [], os.listdir()\nopen('left', 'w').write('x' * 99)")
    assert record["status"] == "passed"
    assert sorted(path for path in stage.rglob("*") if path.suffix != ".pyc") == before


def test_writing_to_every_open_file_does_not_forge_a_verdict(grade: Grade) -> None:
    forged = '{"id": "x", "verdict": {"version": 1, "status": "passed"}}'
    (record,) = grade(
        "for number in range(3, 1000):\n"
        "    try:\n"
        f"        os.write(number, b'\\n{forged}\\ngarbage without end')\n"
        "    except OSError:\n"
        "        pass\n"
        "assert False, 'the true one'"
    )
    assert record["status"] == "failed"
    assert record["checks"][0]["counterexample"]["got"] == "the true one"


def test_programs_started_by_the_answer_do_not_inherit_the_channel(grade: Grade) -> None:
    script = "import os; print([n for n in range(3, 1000) if os.path.exists(f'/proc/self/fd/{n}')])"
    (record,) = grade(
        "import subprocess\n"
        f"out = subprocess.run([sys.executable, '-c', {script!r}], close_fds=False,\n"
        "    capture_output=True, text=True).stdout\n"
        "print(out)"
    )
    # The one number that is listed is the listing's own, if any.
    assert all(
        int(n) < 100 for n in record["notes"][-1].partition("[")[2].strip("]").split(",") if n
    )


def test_a_verdict_stands_though_its_cause_is_still_looked_for(grade: Grade) -> None:
    (record,) = grade("assert False, 'slow to name'", timeout="2")
    assert record["status"] == "failed"
    assert record["checks"][0]["message"] == "another value"
    assert "time was up while looking for the cause" in record["notes"][0]


def test_processes_left_behind_end_with_the_child(grade: Grade, tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    (record,) = grade(
        "child = os.fork()\n"
        "if child == 0:\n"
        "    time.sleep(60)\n"
        f"open({str(pid)!r}, 'w').write(str(child))"
    )
    assert record["status"] == "passed"
    assert _gone(int(pid.read_text()))


def test_a_fork_that_holds_the_pipes_does_not_delay_a_crash(grade: Grade) -> None:
    began = time.monotonic()
    (record,) = grade("if os.fork() == 0:\n    time.sleep(60)\nos._exit(7)", timeout="20")
    assert record["status"] == "crashed"
    assert "exit code 7" in message(record)
    assert time.monotonic() - began < 10


def test_a_fault_of_the_engine_is_not_the_answers_and_the_next_job_goes_on(
    grade: Grade, stage: Path
) -> None:
    fault, after = grade("raise SystemExit(0)", "return 42")
    assert fault["status"] == "grader_error"
    assert fault["notes"][0] == "a fault of the grader, not of your answer"
    assert "SystemExit" in next((stage / ".grader" / "faults").iterdir()).read_text()
    assert after["status"] == "passed"


@pytest.mark.parametrize(
    ("source", "note"),
    [
        ("import torch_is_not_here", "what happened is in"),
        ("raise ModuleNotFoundError(\"No module named 'torch'\")", "pip install torch"),
        ("import os; os._exit(9)", "what happened is in"),
    ],
)
def test_an_engine_that_does_not_load_is_a_fault_of_ours(
    grade: Grade, stage: Path, source: str, note: str
) -> None:
    (stage / "grader" / "engine" / "grading.py").write_text(source + "\n")
    (record,) = grade("return 42")
    assert record["status"] == "grader_error"
    assert any(note in each for each in record["notes"])


def test_a_slow_start_is_not_the_answers_fault(grade: Grade, stage: Path) -> None:
    engine = stage / "grader" / "engine" / "grading.py"
    engine.write_text(
        engine.read_text().replace("\nfrom collections", "\nimport time\nfrom collections", 1)
        + "\n\ntime.sleep(1.5)\n"
    )
    (record,) = grade("return 42", timeout="1")
    assert record["status"] == "passed"


def test_a_record_that_is_none_is_a_fault_and_not_a_pass(grade: Grade, stage: Path) -> None:
    engine = stage / "grader" / "engine" / "grading.py"
    engine.write_text(engine.read_text().replace('"passed", path, 1.0', '"perfect", path, 1.0'))
    (record,) = grade("return 42")
    assert record["status"] == "grader_error"


def _gone(pid: int) -> bool:
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        try:
            os.kill(pid, 0)
            stat = Path(f"/proc/{pid}/stat")
            if stat.exists() and stat.read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except (ProcessLookupError, FileNotFoundError):
            return True
        time.sleep(0.05)
    return False


def test_what_a_killed_grader_left_is_removed_by_the_next(tmp_path: Path, repository: Path) -> None:
    left = tmp_path / "grader-left"
    left.mkdir()
    (left / "big").write_text("x")
    script = "import sys; sys.path.insert(0, sys.argv[1]); from grader.isolation import scratch\n"
    script += "scratch.SETTLED = 0.0\nkept = scratch.Scratch()\n"
    script += "scratch.Scratch().remove()\nassert kept.path.exists()\nkept.remove()"
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    subprocess.run([sys.executable, "-c", script, str(repository)], env=environment, check=True)
    assert not left.exists()


def test_the_children_of_a_pool_outlive_one_list_of_jobs(stage: Path) -> None:
    program = (
        "from grader.catalog import katas\n"
        "from grader.isolation.parent import Job, Pool\n"
        "job = Job(katas()[0], 'a.py', b'def answer():\\n    return 42\\n')\n"
        "with Pool(2, 20.0, lambda: False) as pool:\n"
        "    for _ in range(3):\n"
        "        print(*(each.status for each in pool.grade([job, job], lambda *_: None)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=stage,
        env=os.environ | {"PYTHONPATH": str(stage), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    assert (done.stdout, done.stderr) == (3 * "passed passed\n", "")
