"""The README shows what the program prints, and the table lists the katas there are."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from grader import catalog

REPOSITORY = Path(__file__).resolve().parents[1]
STEM = "kata03_multi_head_self_attention"
ANSWER = REPOSITORY / "tests" / "submissions" / STEM / "wrong" / "fused_multiplied.py"

RunPython = Callable[..., "subprocess.CompletedProcess[str]"]


def part(name: str) -> str:
    """Return what stands between `<!-- name -->` and `<!-- end -->`."""
    text = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    found = re.search(rf"<!-- {name} -->\n(.*?)<!-- end -->", text, re.DOTALL)
    assert found is not None, f"the README has no part {name}"
    return found[1]


def table() -> str:
    rows = ["| kata | what you write | minutes |", "|---|---|---|"]
    for entry in catalog.katas():
        kata = entry.load_spec()
        targets = ", ".join(f"`{target.name}`" for target in kata.targets)
        rows.append(f"| {entry.name} | {kata.title}: {targets} | {kata.minutes} |")
    return "\n".join(rows) + "\n"


def screen(copy: Path, run_python: RunPython) -> str:
    """Return what a learner sees who has multiplied the masks into the scores."""
    (copy / "katas" / f"{STEM}.py").write_bytes(ANSWER.read_bytes())
    done = run_python(copy, "-m", "grader", "kata3", "--plain")
    assert done.returncode == 1, done.stderr
    return f"```text\n{done.stdout.rstrip()}\n```\n"


def test_the_table_lists_every_kata() -> None:
    assert part("table") == table()


def test_the_screen_is_what_the_program_prints(copy: Path, run_python: RunPython) -> None:
    assert part("screen") == screen(copy, run_python)


def commands(section: str) -> list[list[str]]:
    """Return the commands of a section as they would be typed, in their order."""
    text = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    body = text.partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    found = re.findall(r"^python -m (grader.*?)(?: +#.*)?$", body, re.MULTILINE)
    assert found, f"the README has no commands in {section}"
    return [words.split() for words in found]


def test_what_a_newcomer_types_to_practise_works_in_that_order(
    stage: Path, run_python: RunPython, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a stage of small katas; what they ask is answered with yes, or by giving up."""
    monkeypatch.setenv("EDITOR", "true")
    (stage / "katas" / "kata03_noise.py").write_text('def answer():\n    assert False, "41"\n')
    typed = stage / "typed"
    says: list[str] = []
    for words in commands("Practise") + commands("Mock interviews"):
        typed.write_text("give up\n" if "solution" in words else "y\n1\n")
        with typed.open() as stdin:
            done = run_python(stage, "-m", *words, stdin=stdin)
        assert done.returncode in (0, 1, 3), (words, done.stderr)
        assert done.stderr == "", words
        says.append(done.stdout)
    everything = "\n".join(says)
    for expected in (
        "FAIL  kata3",
        "1 attempt",
        "+    return 42",
        "nothing is due today",
        "katas/kata03_noise.py is the stub again",
        "2 bugs were planted",
        "0 of 2 mended",
        "left · round 1 of 3: build",
        "round 2 of 3: find the bugs",
        "of 100 points",
    ):
        assert expected in everything


def test_the_keys_of_the_live_screen_are_those_of_the_program() -> None:
    from grader.commands.live import LEGENDS

    assert f"\n{LEGENDS['build']}\n```\n" in (REPOSITORY / "README.md").read_text(encoding="utf-8")


def test_every_command_of_practice_is_in_the_table() -> None:
    from grader.commands import VERBS

    text = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    missing = [verb for verb in VERBS if f"`python -m grader {verb}" not in text]
    assert missing == []
