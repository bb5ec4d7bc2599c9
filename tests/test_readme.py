"""The README shows what the program prints, and the table lists the katas there are."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

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
