"""Every question of every command: Ctrl-C and Ctrl-D change nothing, Ctrl-Z and fg neither."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., "subprocess.CompletedProcess[str]"]
Start = Callable[..., Any]

WRONG = 'def answer():\n    assert False, "41"\n'
SHELL = "$PYTHON -m grader"


@dataclass(frozen=True)
class Prompt:
    """A command that asks; `before` are commands that lead there, `typed` answers its question."""

    words: str
    before: tuple[str, ...] = ()
    typed: str = "n"
    says: str = ""
    first: str = ""
    no: int = 1


PROMPTS = [
    Prompt("reset kata1", says="nothing was reset"),
    Prompt("solution kata1", says="nothing was shown"),
    Prompt("review kata1", says="nothing was changed"),
    Prompt("debug kata3", ("debug kata3 --seed 4",), says="--check"),
    Prompt("interview --abandon", ("interview start --katas kata1 --seed 3",), says="it goes on"),
    Prompt(
        "interview next",
        ("interview start --katas kata1 --seed 3", "interview next", "interview next"),
        typed="",
        says="question 2 of 2",
        no=0,
    ),
    Prompt(
        "interview next",
        ("interview start --katas kata1 --seed 3", "interview next", "interview next"),
        typed="1",
        says="kept: 1 of 2 points named",
        first="an answer",
        no=0,
    ),
]
each_prompt = pytest.mark.parametrize(
    "prompt", PROMPTS, ids=lambda prompt: f"{prompt.words}{' again' * bool(prompt.first)}"
)


@pytest.fixture
def ready(run: Run, stage: Path) -> Callable[[Prompt], Callable[[], object]]:
    """Lead to a prompt; return what tells whether anything was changed by it."""
    stub = stage / "katas" / "kata01_echo.py"

    def lead(prompt: Prompt) -> Callable[[], object]:
        stub.write_text(WRONG)
        for words in prompt.before:
            assert run(*words.split()).returncode == 0

        def seen() -> object:
            files = [p for p in (stage / ".grader").rglob("*.py") if p.is_file()]
            records = [
                line
                for line in run("history", "--export", "-").stdout.splitlines()
                if '"kind": "interview"' not in line
            ]
            answers = run("history", "--export", "-").stdout.count('\\"text\\"')
            return stub.read_text(), sorted(files), records, answers

        return seen

    return lead


@each_prompt
def test_ctrl_c_leaves_and_changes_nothing(
    terminal: Start, ready: Callable[[Prompt], Callable[[], object]], prompt: Prompt
) -> None:
    state = ready(prompt)
    before = state()
    seen = terminal(*prompt.words.split(), columns=40)
    seen.sees("^>")
    if prompt.first:
        seen.enter(prompt.first)
        seen.sees("^>(.|\n)*^>")
    seen.type("\x03")
    seen.sees("interrupted")
    assert seen.ended() == 130
    assert "Traceback" not in seen.text
    assert state() == before


@each_prompt
def test_ctrl_z_and_fg_lead_back_to_the_question(
    terminal: Start, ready: Callable[[Prompt], Callable[[], object]], prompt: Prompt
) -> None:
    ready(prompt)
    seen = terminal(shell=True, columns=100)
    seen.enter(f"{SHELL} {prompt.words}")
    seen.sees("^>")
    if prompt.first:
        seen.enter(prompt.first)
        seen.sees("^>(.|\n)*^>")
    seen.type("\x1a")
    seen.sees("Stopped")
    seen.enter("fg")
    seen.look(0.3)
    seen.enter(prompt.typed)
    if prompt.words == "interview next" and not prompt.first:
        seen.sees("Which of these")
        seen.enter()
    seen.sees(prompt.says)
    seen.enter("echo it ended with $?; exit")
    seen.sees(f"^it ended with {prompt.no}")
    seen.ended()


@pytest.mark.parametrize("prompt", PROMPTS[5:], ids=lambda prompt: f"{prompt.first or 'at once'}")
def test_ctrl_d_leaves_a_question_of_an_interview(
    terminal: Start, ready: Callable[[Prompt], Callable[[], object]], prompt: Prompt
) -> None:
    state = ready(prompt)
    before = state()
    seen = terminal(*prompt.words.split())
    seen.sees("^>")
    if prompt.first:
        seen.enter(prompt.first)
        seen.sees("^>(.|\n)*^>")
    seen.type("\x04")
    seen.sees("interrupted")
    assert seen.ended() == 130
    assert state() == before


@pytest.mark.parametrize("prompt", PROMPTS[:5], ids=lambda prompt: prompt.words)
def test_nobody_there_means_no(
    terminal: Start, ready: Callable[[Prompt], Callable[[], object]], prompt: Prompt
) -> None:
    state = ready(prompt)
    before = state()
    seen = terminal(*prompt.words.split(), columns=100)
    seen.sees("^>")
    seen.type("\x04")
    seen.sees(prompt.says)
    assert seen.ended() == 1
    assert state() == before


WIDTHS = (40, 80)
COMMANDS = [
    "",
    "list",
    "list --due",
    "kata1",
    "hint kata1",
    "hint kata1 --again",
    "why kata1",
    "history kata1",
    "debug kata3 --seed 4",
    "debug kata3 --check",
    "debug kata3 --reveal",
    "interview start --katas kata1 --seed 3",
    "interview status",
    "interview check",
    "interview hint",
    "interview next",
    "interview next",
    "interview next",
    "interview finish",
    "interview scorecard",
    "review kata1 --yes",
    "reset kata1 --yes",
    "restore",
    "restore kata1",
    "history",
    "interview status",
    "interview --help",
    "debug --help",
]


@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize("columns", WIDTHS)
def test_all_commands_fit_a_narrow_terminal_and_a_pipe(
    run: Run, stage: Path, columns: int, plain: bool
) -> None:
    (stage / "katas" / "kata01_echo.py").write_text(WRONG)
    for line in COMMANDS:
        words = line.split()
        flags = ["--plain"] if plain and "--help" not in words else []
        done = run(*words, *flags, stdin="x\n1\n", COLUMNS=str(columns))
        assert done.returncode in (0, 1, 2, 3), line
        wide = [each for each in done.stdout.splitlines() if len(each) > columns]
        assert wide == [], line
        assert "\x1b" not in done.stdout
        assert done.stdout.isascii() or not flags, line
        if words[:2] == ["interview", "status"]:
            for answer in (stage / ".grader" / "interviews").glob("*/1_kata01_echo.py"):
                answer.write_text(WRONG)
        # One clear line at most; terminals wrap it themselves.
        assert done.stderr.count("\n") <= 1, done.stderr
