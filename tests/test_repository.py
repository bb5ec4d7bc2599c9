"""The repository as a whole: what lies where, and what its README promises."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]

TOP_LEVEL = {"README.md", "pyproject.toml", "katas", "solutions", "grader", "tests"}
TEXTS = {".py", ".md", ".toml", ".yaml", ".yml", ".json", ".txt", ".cfg", ".ini", ".sh", ""}
# Spelt in parts, so that this file does not find itself.
REGISTRY_HOST = re.compile(
    r"\b("
    + "|".join(["py" + r"pi\.org", "python" + r"hosted\.org", "npm" + r"js\.(org|com)"])
    + ")"
)


def tracked() -> list[Path]:
    """List the files that belong to the repository: those of git, ignored ones left out."""
    git = shutil.which("git")
    if git is None or not (REPOSITORY / ".git").exists():
        pytest.skip("not a git checkout")
    command = [git, "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=REPOSITORY, capture_output=True, check=True, timeout=60)
    paths = (REPOSITORY / name.decode() for name in listed.stdout.split(b"\0") if name)
    return [path for path in paths if path.is_file()]


def test_the_top_level_holds_what_a_learner_expects() -> None:
    names = {path.relative_to(REPOSITORY).parts[0] for path in tracked()}
    visible = {name for name in names if not name.startswith(".")}
    assert visible <= TOP_LEVEL, f"not expected at the top level: {sorted(visible - TOP_LEVEL)}"


def test_no_file_names_the_host_of_a_registry() -> None:
    found = [
        path.relative_to(REPOSITORY).as_posix()
        for path in tracked()
        if path.suffix in TEXTS and REGISTRY_HOST.search(path.read_text("utf-8", "replace"))
    ]
    assert found == []


def test_all_files_end_in_a_newline_and_use_unix_line_ends() -> None:
    submissions = REPOSITORY / "tests" / "submissions"  # crooked on purpose
    wrong = [
        path.relative_to(REPOSITORY).as_posix()
        for path in tracked()
        if path.suffix in TEXTS and submissions not in path.parents
        if (text := path.read_bytes()) and (b"\r" in text or not text.endswith(b"\n"))
    ]
    assert wrong == []


def test_every_command_in_a_block_of_the_readme_is_run_somewhere() -> None:
    """Hold the README to commands that CI or a test runs, so that it cannot go stale.

    A command counts as run where it is a line of .ci/run, or where a test holds
    its arguments as strings side by side. Words in capitals or brackets are the
    reader's to fill in, and do not count.
    """
    commands = commands_of(readme())
    assert commands, "the README shows no command"
    script = (REPOSITORY / ".ci" / "run").read_text(encoding="utf-8")
    run = {line.strip().split(" ||")[0] for line in script.splitlines()}
    assert [each for each in commands if not _is_run(each, run, all_tests())] == []


def test_every_verb_and_option_of_the_readme_is_tried_by_a_test() -> None:
    spans = re.findall(r"`(python -m grader[^`]*|--[a-z-]+)`", readme())
    words = {word for span in spans for word in span.removeprefix("python -m grader").split()}
    tried = {word for word in words if not re.match(r"kata\d|[A-Z[<]|.*\.py$", word)}
    tests = all_tests()
    assert sorted(word for word in tried if f'"{word}"' not in tests) == []


def readme() -> str:
    path = REPOSITORY / "README.md"
    if not path.exists():
        pytest.skip("there is no README yet")
    return path.read_text(encoding="utf-8")


def all_tests() -> str:
    paths = sorted((REPOSITORY / "tests").rglob("test_*.py"))
    return "\n".join(path.read_text(encoding="utf-8") for path in paths)


def commands_of(text: str) -> list[str]:
    """Return the commands in code blocks that start with `python -m`, without comments."""
    found: list[str] = []
    for block in re.findall(r"^```[^\n]*\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        for line in block.splitlines():
            for part in line.strip().removeprefix("$ ").split("&&"):
                command = re.split(r"\s{2,}|\s#", part.strip())[0]
                if command.startswith("python -m "):
                    found.append(command)
    return list(dict.fromkeys(found))


def _is_run(command: str, script: set[str], tests: str) -> bool:
    words = [w for w in command.split() if not w.isupper() and not w.startswith(("[", "<"))]
    if " ".join(words) in script:
        return True
    _, _, module, *arguments = words
    if module == "venv":  # CI makes one too, elsewhere
        return any(" -m venv " in line for line in script)
    as_list = r",\s*".join(rf'"{re.escape(word)}"' for word in arguments)
    return module == "grader" and re.search(as_list, tests) is not None


def test_commands_are_read_from_code_blocks_only() -> None:
    text = (
        "Run python -m grader.\n\n```sh\n$ python -m grader kata3   # grades\n"
        "cd katas && python -m pytest\n```\n\n    python -m other\n"
    )
    assert commands_of(text) == ["python -m grader kata3", "python -m pytest"]
