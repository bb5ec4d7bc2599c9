"""`watch` in a terminal of its own: every way to save, every key, and how it ends."""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import signal
import sys
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from grader.practice.history import History

pexpect = pytest.importorskip("pexpect")

NAME = "kata01_softmax_dim.py"
RIGHT = """
def softmax(x, dim=-1):
    e = (x - x.amax(dim, keepdim=True)).exp()
    return e / e.sum(dim, keepdim=True)
"""
# A named bug, and one that has to be looked for.
WRONG = RIGHT.replace("e / e.sum(dim, keepdim=True)", "e / e.sum(-1, keepdim=True)")
HALF = "import torch\n"
SLOW = RIGHT.replace("    e =", "    import time; time.sleep(0.3)\n    e =")

Start = Callable[..., Any]


@pytest.fixture
def start(copy: Path, tmp_path: Path) -> Iterator[Start]:
    """Start a watch in a copy of the project; everything is over afterwards."""
    started: list[Any] = []
    (tmp_path / "temporary").mkdir()

    def run(*words: str, columns: int = 80) -> Any:
        child = pexpect.spawn(
            sys.executable,
            ["-m", "grader", "watch", *words],
            cwd=str(copy),
            env=os.environ
            | {
                "PYTHONPATH": str(copy),
                "PYTHONDONTWRITEBYTECODE": "1",
                "TMPDIR": str(tmp_path / "temporary"),
                "TERM": "xterm",
            },
            encoding="utf-8",
            timeout=60,
            dimensions=(40, columns),
        )
        child.logfile_read = io.StringIO()
        started.append(child)
        return child

    yield run
    for child in started:
        with contextlib.suppress(Exception):
            child.send("q")
            child.expect(pexpect.EOF, timeout=10)
            child.close(force=True)
    deadline = time.monotonic() + 10
    while any((tmp_path / "temporary").iterdir()) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert list((tmp_path / "temporary").iterdir()) == []


@pytest.fixture
def file(copy: Path) -> Path:
    return copy / "katas" / NAME


def rename_over(file: Path, text: str) -> None:
    """Save as vim does: move the old file away, put a new one in its place."""
    new = file.with_name("4913")
    new.write_text(text)
    file.rename(file.with_name(f"{file.name}~"))
    time.sleep(0.05)
    new.rename(file)


def copy_over(file: Path, text: str) -> None:
    source = file.parents[1] / "mine.py"
    source.write_text(text)
    shutil.copy(source, file)


def within_a_second(file: Path, text: str) -> None:
    """Save twice so that the times of the files differ by nanoseconds."""
    second = time.time_ns() // 10**9 * 10**9
    for number, content in enumerate((HALF, text)):
        other = file.with_name("other")
        other.write_text(content)
        os.utime(other, ns=(second + number, second + number))
        other.replace(file)
        time.sleep(0.3)


def in_a_burst(file: Path, text: str) -> None:
    for number in range(6):
        file.write_text(f"{text}# {number}\n")
        time.sleep(0.01)


def test_a_long_burst_of_saves_is_graded_once_it_ends(start: Start, file: Path) -> None:
    child = start("kata1")
    child.expect("NOT STARTED")
    for number in range(40):
        file.write_text(f"{RIGHT}# {number}\n")
        time.sleep(0.03)
    file.write_text(WRONG)
    child.expect("FAIL")
    child.expect("behaves exactly like")
    assert "GRADER FAULT" not in child.logfile_read.getvalue()
    assert child.logfile_read.getvalue().count("starting over") < 10
    child.send("q")
    child.expect(pexpect.EOF)


def test_another_file_saved_during_a_run_is_graded_instead(start: Start, file: Path) -> None:
    child = start("kata1", "kata8")
    child.expect("NOT STARTED")
    file.write_text(SLOW)
    child.expect("kata01_softmax_dim.py")
    time.sleep(1.0)
    (file.parent / "kata08_residual_blocks.py").write_text("def half(\n")
    child.expect("starting over")
    child.expect("kata08_residual_blocks.py:1")
    child.send("q")
    child.expect(pexpect.EOF)


@pytest.mark.parametrize(
    "save",
    [
        lambda file, text: file.write_text(text),
        rename_over,
        copy_over,
        in_a_burst,
        within_a_second,
    ],
)
@pytest.mark.parametrize("words", [("kata1",), ("kata1", "--poll")])
def test_every_way_to_save_is_seen(
    start: Start, file: Path, save: Callable[[Path, str], None], words: tuple[str, ...]
) -> None:
    child = start(*words)
    child.expect("NOT STARTED")
    save(file, RIGHT)
    child.expect("PASS")
    save(file, WRONG)
    child.expect("FAIL")
    child.expect("behaves exactly like")
    child.send("q")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0


def test_a_save_that_changes_nothing_is_no_reason_to_grade(start: Start, file: Path) -> None:
    file.write_text(RIGHT)
    child = start("kata1")
    child.expect("PASS")
    file.write_text(RIGHT)
    os.utime(file)
    (file.parent / "other.txt").write_text("not an answer")
    assert child.expect(["PASS", pexpect.TIMEOUT], timeout=2.5) == 1
    file.write_text(WRONG)
    child.expect("FAIL")


def test_a_save_during_a_run_starts_again(start: Start, file: Path) -> None:
    child = start("kata1")
    child.expect("NOT STARTED")
    file.write_text(SLOW)
    time.sleep(1.0)
    began = time.monotonic()
    file.write_text(RIGHT)
    child.expect("saved again: starting over")
    child.expect("PASS")
    assert time.monotonic() - began < 15
    file.write_text(WRONG)  # and it is still warm
    child.expect("FAIL")


def test_a_save_of_another_kata_is_followed(start: Start, copy: Path) -> None:
    child = start()
    # The first one is the warm-up, which is graded as it is.
    child.expect("FAIL|PASS")
    child.expect("next")
    source = (copy / "solutions" / "kata08_residual_blocks.py").read_text()
    (copy / "katas" / "kata08_residual_blocks.py").write_text(source)
    child.expect("PASS")
    child.expect("kata8")


def test_what_is_graded_is_kept_in_the_history(start: Start, file: Path, copy: Path) -> None:
    child = start("kata1")
    child.expect("NOT STARTED")
    file.write_text(WRONG)
    child.expect("behaves exactly like")
    file.write_text(RIGHT)
    child.expect("PASS")
    child.expect("again +due")
    kept = History(copy / ".grader" / "history.db").attempts("softmax-dim")
    assert [(each.status, each.origin) for each in kept] == [
        ("failed", "watch"),
        ("passed", "watch"),
    ]
    assert all(each.worked is not None for each in kept)


def test_every_key(start: Start, file: Path, copy: Path) -> None:
    file.write_text(WRONG)
    child = start("kata1", "--plain")
    child.expect("FAIL")
    child.expect("again|kata1")
    child.send("h")
    child.expect("hint 1")
    child.send("h")
    child.expect("hint 2")
    child.send("l")
    child.expect("kata8")
    child.send("z")
    child.expect("n next, h hint, l list, r reset, q quit")
    child.send("rn")
    child.expect("nothing was reset")
    assert file.read_text() == WRONG
    child.send("ry")
    child.expect("your answer is kept in")
    child.expect("NOT STARTED")
    (kept,) = (copy / ".grader" / "backups").iterdir()
    assert kept.read_text() == WRONG
    child.send("n")
    child.expect("kata02_single_head_attention.py")
    child.expect("NOT STARTED")
    child.send("q")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0
    assert "\x1b[2J" not in (child.before or ""), "the scrollback stays"


@pytest.mark.parametrize("how", ["key", "SIGINT", "SIGTERM", "SIGHUP"])
def test_the_terminal_is_given_back(start: Start, file: Path, how: str) -> None:
    file.write_text(SLOW)
    child = start("kata1")
    before = termios.tcgetattr(child.child_fd)
    child.expect("watching katas")
    time.sleep(1.0)  # in the midst of a grading
    if how == "key":
        child.send("\x03")
    else:
        child.kill(getattr(signal, how))
    child.expect(pexpect.EOF)
    after = termios.tcgetattr(child.child_fd)
    child.close()
    assert child.exitstatus == 130
    assert after[:4] == before[:4]


def test_a_file_elsewhere_can_be_watched(start: Start, tmp_path: Path) -> None:
    mine = tmp_path / "mine.py"
    mine.write_text(WRONG)
    child = start("kata1", "--file", str(mine))
    child.expect("FAIL")
    mine.write_text(RIGHT)
    child.expect("PASS")
    child.send("ry")
    child.expect("only a file in katas/")
    assert mine.read_text() == RIGHT


def test_a_deleted_file_is_told_and_comes_back(start: Start, file: Path) -> None:
    file.write_text(RIGHT)
    child = start("kata1")
    child.expect("PASS")
    file.unlink()
    child.expect("there is no file")
    file.write_text(RIGHT + "# again\n")
    child.expect("PASS")


def test_forty_columns_are_enough(start: Start, file: Path) -> None:
    file.write_text(WRONG)
    child = start("kata1", columns=40)
    child.expect("FAIL")
    child.send("q")
    child.expect(pexpect.EOF)
