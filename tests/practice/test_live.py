"""The live screen of an interview in a terminal, as the person in front of it sees it."""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
import subprocess
import termios
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., "subprocess.CompletedProcess[str]"]
Start = Callable[..., Any]

RIGHT = "def answer():\n    return 42\n"
WRONG = 'def answer():\n    assert False, "41"\n'
SLOW = "import time\ndef answer():\n    time.sleep(20)\n    return 42\n"
WORDS = ("interview", "start", "--format", "screen", "--katas", "kata1", "--seed", "3")
SHELL = "$PYTHON -m grader"
# The keys are there once the round is ready; what is typed before is not listened to.
KEYS = r"(.|\n)*q\s+leave"
STARTED = rf"\d+:\d\d left . round 1 of 3: build{KEYS}"


def fast(rate: float) -> dict[str, str]:
    """Let the clock run that many times as fast, from now on."""
    return {"GRADER_CLOCK": f"{rate}@{time.time()}"}


@pytest.fixture
def file(stage: Path) -> Callable[[int], Path]:
    def find(number: int) -> Path:
        folder = stage / ".grader" / "interviews"
        (path,) = [p for p in folder.glob(f"*/{number}_*.py") if "_tests" not in p.name]
        return path

    return find


def kept(stage: Path) -> dict[str, Any]:
    """Return the latest interview as it is in the history."""
    connection = sqlite3.connect(stage / ".grader" / "history.db")
    connection.row_factory = sqlite3.Row
    row = connection.execute("SELECT * FROM interviews ORDER BY at DESC LIMIT 1").fetchone()
    connection.close()
    return {**dict(row), "rounds": json.loads(row["rounds"])}


def seconds_left(screen: str) -> int:
    found = re.findall(r"(\d+):(\d\d) left · round", screen)
    return int(found[-1][0]) * 60 + int(found[-1][1])


def test_a_whole_interview_with_the_clock_sped_up(  # noqa: PLR0915 - thirty minutes
    terminal: Start, file: Callable[[int], Path], stage: Path
) -> None:
    """Thirty minutes in one: each step by its key, and what is seen after it."""
    seen = terminal(*WORDS, **fast(30))
    first = seen.shows(STARTED, r"c check, n next round, h hint", "kata1 · Echo")
    later = seen.shows(r"2[0-8]:\d\d left · round 1")
    assert seconds_left(later) < seconds_left(first) <= 30 * 60, "the clock runs"
    assert len(re.findall(r"left · round", later)) == 1, "drawn anew, not again"
    seen.type("c")
    seen.sees(r"^NOT STARTED  \d\d:\d\d left", "nothing is written yet")
    file(1).write_text(WRONG)
    seen.type("c")
    failed = seen.sees(r"^FAILED  \d\d:\d\d left", "fails +it answers")
    assert "off-by-one" not in failed, "no names of bugs before the end"
    seen.type("h")
    seen.sees(r"hint 1 of 3: concept; it costs points", "An echo returns what it hears")
    seen.type("x")
    file(1).write_text(RIGHT)
    seen.type("c")
    seen.sees(r"^PASS  \d\d:\d\d left", "next +press n")
    seen.type("n")
    seen.shows(rf"round 2 of 3: find the bugs{KEYS}", "planted +2 bugs")
    file(2).write_text(file(2).read_text().replace('wrong += ["too-quiet"]', "wrong += []"))
    seen.type("c")
    seen.sees(r"^FAILED  .* 1 of 2 mended")
    seen.type("n")
    seen.shows("this round has not passed: end it all the same")
    seen.enter("n")
    seen.shows(f"round 2 of 3{KEYS}")
    seen.type("n")
    seen.shows("end it all the same.*\n>")
    seen.enter("y")
    seen.shows("round 3 of 3: follow-up questions", "n ask, f finish, q leave")
    seen.type("n")
    asked = seen.shows("question 1 of 2: Why 42", r"^ *\d+:\d\d left")
    assert "What a good answer mentions" not in asked
    seen.enter("It is the answer.")
    seen.shows("What a good answer mentions:", "1. +it is the answer", "Which of these")
    seen.enter("1, 9")
    seen.shows("'1, 9' is not all numbers from 1 to 2", "Which of these")
    seen.enter("1")
    seen.sees("kept: 1 of 2 points named")
    seen.shows(f"question 2 of 2{KEYS}")
    seen.type("n")
    seen.sees("question 2 of 2: Why not 41")
    seen.enter()
    seen.sees("Which of these.*(.|\n)*Which of these")
    seen.enter("1")
    end = seen.sees(r" of 100 points · screen, 30 minutes", "communication", "scorecard.html")
    assert "too-quiet: it is too quiet" in end, "full diagnosis at the end"
    assert seen.ended() == 0
    assert seen.cursor_is_shown()
    assert "\x1b[2J" not in seen.raw.decode(), "the scrollback stays"
    interview = kept(stage)
    assert interview["state"] == "finished"
    build, debug, questions = interview["rounds"]
    assert (build["checks"], build["hints"], build["status"]) == (2, 1, "passed")
    assert (debug["checks"], debug["mended"]) == (1, 1)
    assert [(a["text"], a["points"]) for a in questions["answers"]] == [
        ("It is the answer.", [1]),
        ("", [1]),
    ]
    assert build["passed"] - build["started"] > 60, "by the clock that was sped up"


def test_at_zero_what_is_there_is_graded_without_a_key(
    terminal: Start, file: Callable[[int], Path], stage: Path, run: Run
) -> None:
    seen = terminal(*WORDS, **fast(300))
    seen.shows(STARTED)
    file(1).write_text(RIGHT)
    end = seen.sees("the time is up", " of 100 points", "passed; debug not begun")
    assert seen.ended() == 0
    assert "round 2   find the bugs, kata3: it did not come to that" in end
    assert seconds_left(end) < 60 if "left · round" in end else True
    assert kept(stage)["rounds"][0]["status"] == "passed"
    file(1).write_text(WRONG)
    assert "passed; debug not begun" in run("interview", "scorecard").stdout, "it stays so"


def test_at_zero_a_question_is_over_too(terminal: Start, stage: Path) -> None:
    seen = terminal(*WORDS, "--minutes", "2", **fast(12))
    seen.shows(STARTED)
    for number in (2, 3):
        seen.type("n")
        seen.shows("end it all the same.*\n>")
        seen.enter("y")
        seen.shows(f"round {number} of 3{KEYS}")
    seen.type("n")
    seen.shows("question 1 of 2")
    seen.type("half an ans")
    seen.sees("this answer came too late", " of 100 points")
    assert seen.ended() == 0
    assert kept(stage)["rounds"][2]["answers"] == []


def lead_to(seen: Any, file: Callable[[int], Path], during: str) -> None:
    """Bring the screen to a grading, a question of its own, or one of the interview."""
    seen.shows(STARTED)
    if during == "grading":
        file(1).write_text(SLOW)
        seen.type("c")
        seen.shows("^grading")
    elif during == "question":
        seen.type("f")
        seen.shows("end the interview now")
    elif during == "answer":
        for number in (2, 3):
            seen.type("n")
            seen.shows("end it all the same.*\n>")
            seen.enter("y")
            seen.shows(f"round {number} of 3{KEYS}")
        seen.type("n")
        seen.shows("question 1 of 2")


@pytest.mark.parametrize("during", ["key", "grading", "question", "answer"])
@pytest.mark.parametrize("how", ["c-c", "SIGTERM", "SIGHUP", "SIGINT"])
def test_the_terminal_is_given_back_and_the_interview_goes_on(
    terminal: Start, file: Callable[[int], Path], run: Run, how: str, during: str
) -> None:
    seen = terminal(*WORDS)
    before = termios.tcgetattr(seen.child.child_fd)
    lead_to(seen, file, during)
    if how != "c-c":
        seen.child.kill(getattr(signal, how))
    # At a prompt an interrupt of the system is a Ctrl-C like any other: it leaves the question.
    if how == "c-c" or (how == "SIGINT" and during in ("question", "answer")):
        if how == "c-c":
            seen.type("\x03")
        if during != "key":
            seen.sees("stopped; nothing of that step was kept")
            seen.shows(rf"left . round \d of 3{KEYS}")
            seen.type("\x03")
    seen.sees(r"the interview goes on: (29:\d\d|30:00) left", "python -m grader interview --resume")
    assert seen.ended() == 130
    assert seen.cursor_is_shown()
    assert seen.modes[:4] == before[:4]
    assert "Traceback" not in seen.text
    assert re.match(r"29:\d\d|30:00", run("interview", "status").stdout)


def test_ctrl_d_leaves_a_question_and_then_the_screen(
    terminal: Start, file: Callable[[int], Path], stage: Path
) -> None:
    seen = terminal(*WORDS)
    lead_to(seen, file, "answer")
    seen.type("\x04")
    seen.sees("stopped; nothing of that step was kept")
    seen.shows("round 3 of 3", "question 1 of 2")
    seen.type("\x04")
    seen.sees("the interview goes on")
    assert seen.ended() == 0
    assert kept(stage)["rounds"][2]["answers"] == []


@pytest.mark.parametrize("during", ["key", "question", "grading"])
def test_ctrl_z_gives_the_terminal_to_the_shell_and_fg_brings_it_back(
    terminal: Start, file: Callable[[int], Path], during: str
) -> None:
    seen = terminal(shell=True)
    seen.enter(f"{SHELL} {' '.join(WORDS)}")
    seen.shows(STARTED)
    if during == "question":
        seen.type("f")
        seen.shows("end the interview now", "left$")
    elif during == "grading":
        file(1).write_text(SLOW.replace("20", "2"))
        seen.type("c")
        seen.shows("^grading")
    seen.type("\x1a")
    seen.sees("Stopped")
    assert seen.cursor_is_shown()
    seen.enter("stty -a | grep -o ' -\\?echo '; echo the shell again")
    seen.sees("^ echo", "^the shell again")
    seen.enter("fg")
    if during == "question":
        seen.look(0.5)
        seen.enter("n")
    seen.shows(STARTED, "c check")
    if during == "grading":
        seen.sees("^PASS")
    seen.type("q")
    seen.sees("the interview goes on")
    seen.enter("stty -a | grep -o ' -\\?icanon'; exit")
    seen.sees("^ icanon")
    assert seen.ended() == 0


def test_a_terminal_that_is_closed_ends_the_screen_and_nothing_else(
    terminal: Start, file: Callable[[int], Path], run: Run
) -> None:
    seen = terminal(*WORDS)
    seen.shows(STARTED)
    file(1).write_text(WRONG)
    seen.type("c")
    seen.sees("^FAILED")
    process = seen.child.pid
    os.close(seen.child.child_fd)
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        if os.waitpid(process, os.WNOHANG)[0]:
            break
        time.sleep(0.05)
    else:
        pytest.fail("it is still there")
    done = run("interview", "--resume")
    assert re.match(r"29:\d\d|30:00", done.stdout)
    assert "Traceback" not in done.stderr


def test_after_a_kill_it_is_taken_up_again(
    terminal: Start, file: Callable[[int], Path], stage: Path
) -> None:
    clock = fast(20)
    seen = terminal(*WORDS, **clock)
    seen.shows(STARTED)
    file(1).write_text(WRONG)
    seen.type("c")
    seen.sees("^FAILED")
    seen.type("h")
    seen.sees("hint 1 of 3")
    left = seconds_left(seen.shows(STARTED))
    seen.child.kill(signal.SIGKILL)
    assert seen.ended() == -signal.SIGKILL
    file(1).unlink()
    again = terminal("interview", "--resume", **clock)
    again.shows("1_kata01_echo.py was gone; it is back as it was last seen", "round 1 of 3")
    assert file(1).read_text() == WRONG
    assert seconds_left(again.shows(STARTED)) < left, "the clock has run"
    again.type("h")
    again.sees("hint 2 of 3")
    again.type("q")
    again.sees("the interview goes on")
    assert again.ended() == 0
    assert kept(stage)["rounds"][0]["checks"] == 1


def test_while_the_machine_sleeps_the_clock_runs(
    terminal: Start, file: Callable[[int], Path]
) -> None:
    seen = terminal(*WORDS, **fast(200))
    seen.shows(STARTED)
    file(1).write_text(RIGHT)
    seen.look(0.8)
    before = seconds_left(seen.shows(STARTED))
    seen.child.kill(signal.SIGSTOP)
    time.sleep(2)
    seen.child.kill(signal.SIGCONT)
    seen.look(1)
    assert seconds_left(seen.shows(STARTED)) < before - 2 * 200
    seen.child.kill(signal.SIGSTOP)
    time.sleep(before / 200)
    seen.child.kill(signal.SIGCONT)
    seen.sees("the time is up", "passed; debug not begun")
    assert seen.ended() == 0


def test_a_real_kata_is_graded_on_the_screen(terminal: Start, copy: Path) -> None:
    seen = terminal("interview", "--katas", "kata1", "--seed", "3", folder=copy)
    seen.shows(STARTED, "kata1 · Softmax along a dimension")
    (path,) = (copy / ".grader" / "interviews").glob("*/1_kata01_softmax_dim.py")
    solution = (copy / "solutions" / "kata01_softmax_dim.py").read_text()
    path.write_text(solution.replace("amax(dim=dim, keepdim=True)", "amax()"))
    seen.type("c")
    seen.shows("^grading$", r"(29:\d\d|30:00) left")
    seen.sees("^(FAILED|PASS)")
    path.write_text(solution)
    seen.type("c")
    seen.sees("^PASS")
    path.write_text(solution.replace("    powers =", "    while True: pass\n    powers ="))
    seen.type("c")
    seen.shows("^grading$")
    seen.type("\x03")
    seen.sees("stopped; nothing of that step was kept")
    path.write_text(solution)
    seen.look(0.8)
    seen.type("n")
    seen.shows("round 2 of 3: find the bugs", "planted +2 bugs", patience=90)
    seen.type("q")
    assert seen.ended() == 0


def test_another_terminal_may_take_steps_meanwhile(
    terminal: Start, file: Callable[[int], Path], run: Run, stage: Path
) -> None:
    seen = terminal(*WORDS)
    seen.shows(STARTED)
    file(1).write_text(WRONG)
    assert run("interview", "check").returncode == 1
    assert run("interview", "hint").returncode == 0
    seen.look(0.8)
    seen.type("h")
    seen.sees("hint 2 of 3")
    assert (kept(stage)["rounds"][0]["checks"], kept(stage)["rounds"][0]["hints"]) == (1, 2)
    run("interview", "next")
    seen.shows("round 2 of 3: find the bugs")
    run("interview", "--abandon", "--yes")
    seen.sees("the interview was ended by another command")
    assert seen.ended() == 0


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda path: path.mkdir(), "is no file any more"),
        (os.mkfifo, "is no file any more"),
        (lambda path: path.write_bytes(b"#" * 2_000_000), "is too large to be an answer"),
        (lambda path: None, "was gone; it is back as it was last seen"),
    ],
    ids=["a folder", "a pipe", "too large", "nothing"],
)
def test_what_replaces_the_answer_is_told_once_and_the_answer_counts(
    terminal: Start, file: Callable[[int], Path], spoil: Callable[[Path], object], says: str
) -> None:
    seen = terminal(*WORDS, columns=120)
    seen.shows(STARTED)
    path = file(1)
    path.write_text(RIGHT)
    seen.look(0.8)
    path.unlink()
    spoil(path)
    seen.sees(says)
    seen.type("c")
    seen.sees("^PASS")
    seen.look(1.2)
    assert seen.text.count(says) <= 2, "by the screen and by the step, not twice a second"
    seen.type("q")
    assert seen.ended() == 0


def test_a_file_that_is_replaced_by_another_is_the_answer(
    terminal: Start, file: Callable[[int], Path]
) -> None:
    seen = terminal(*WORDS)
    seen.shows(STARTED)
    path = file(1)
    new = path.with_name("new")
    new.write_text(RIGHT)
    path.unlink()
    time.sleep(0.1)
    new.rename(path)
    seen.type("c")
    seen.sees("^PASS")
    assert "was gone" not in seen.text


def test_the_editor_of_ones_choice_opens_and_every_save_counts(
    terminal: Start, stage: Path, file: Callable[[int], Path], run: Run
) -> None:
    editor = stage / "editor.py"
    editor.write_text(
        "import sys; print('editing', sys.argv[1][-24:])\n"
        f"open(sys.argv[1], 'w').write({RIGHT!r} if input() == 'right' else {WRONG!r})\n"
    )
    seen = terminal(*WORDS, columns=120, EDITOR=f"python '{editor}'")
    seen.shows(STARTED)
    seen.type("e")
    seen.sees("^editing .*1_kata01_echo.py$")
    seen.enter("right")
    seen.shows(STARTED)
    seen.type("c")
    seen.sees("^PASS")
    seen.type("t")
    seen.sees("^editing .*1_kata01_echo_tests.py$")
    seen.type("\x03")  # the editor's, not ours
    seen.shows(STARTED)
    seen.type("q")
    seen.sees("the interview goes on")
    assert seen.ended() == 0
    done = run("interview", "edit", EDITOR="", VISUAL="")
    assert done.returncode == 2
    assert "EDITOR is not set; open " in done.stderr
    done = run("interview", "edit", EDITOR="no-such-editor -x", VISUAL="")
    assert (done.returncode, done.stderr) == (
        2,
        "no-such-editor cannot be started: No such file or directory\n",
    )


def test_forty_columns_are_enough(terminal: Start, file: Callable[[int], Path]) -> None:
    seen = terminal(*WORDS, columns=40)
    screen = seen.shows(STARTED, "q leave")
    assert len(re.findall("left · round", screen)) == 1
    seen.look(2.2)
    assert len(re.findall("left · round", seen.text)) == 1, "nothing is left behind"
    file(1).write_text(WRONG)
    seen.type("c")
    seen.sees("^FAILED")
    seen.type("f")
    seen.shows("y/n")
    seen.enter("y")
    seen.sees(" of 100 points")
    assert seen.ended() == 0


def test_a_terminal_of_eight_lines_shows_the_clock_and_the_keys(terminal: Start) -> None:
    seen = terminal(*WORDS, columns=24, rows=8)
    seen.shows(r"\d\d:\d\d left . round 1 of", r"f finish, q\s+leave")
    seen.look(1.5)
    seen.type("c")
    seen.sees("^NOT STARTED")
    seen.look(1.5)
    assert len(re.findall("left . round", seen.text)) == 1, "nothing is left behind"
    seen.type("q")
    assert seen.ended() == 0


@pytest.mark.parametrize("words", [(), ("--live",), ("--no-live",), ("--plain",)])
def test_without_a_terminal_each_step_is_a_command(run: Run, words: tuple[str, ...]) -> None:
    done = run(*WORDS, *words)
    assert done.returncode == 0
    assert done.stdout.startswith("30:00 left · " if "--plain" not in words else "30:00 left - ")
    assert "\x1b" not in done.stdout
    told = "there is no terminal for the live screen: each step is a command\n"
    assert done.stderr == (told if "--live" in words else "")
    assert run("interview", *words).stdout[2] == ":"


@pytest.mark.parametrize("more", [{"TERM": "dumb"}, {"words": "--plain"}, {"words": "--no-live"}])
def test_a_terminal_that_cannot_or_shall_not_move_gets_commands(
    terminal: Start, more: dict[str, str]
) -> None:
    seen = terminal(*WORDS, *filter(None, [more.pop("words", "")]), **more)
    seen.sees(r"(30:00|29:\d\d) left . round 1 of 3", "python -m grader interview check")
    assert seen.ended() == 0
