"""Profiles and fixtures that all tests share."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

import pytest
from hypothesis import HealthCheck, settings

REPOSITORY = Path(__file__).resolve().parents[1]

# Answers of learners: material, not tests.
collect_ignore = ["submissions"]

# The same examples on every machine and in every run; a find goes into a test by hand.
settings.register_profile(
    "ci",
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
# New examples each time, for looking around: HYPOTHESIS_PROFILE=explore.
settings.register_profile("explore", database=None, deadline=None, max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

# Tensors are tiny here: threads of workers that share the cores only wait for each other.
# Set before torch is imported, and passed on to every process a test starts.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# What gradings find out about solutions is found out anew, and nothing is left in `.grader`.
os.environ["GRADER_CACHE"] = ""

# A git hook tells git which repository it runs for; tests make their own.
for _name in [name for name in os.environ if name.startswith("GIT_")]:
    del os.environ[_name]


def pytest_xdist_auto_num_workers() -> int:
    """Run one test more at a time than there are cores: many wait for programs they drive."""
    return (os.cpu_count() or 1) + 1


@pytest.fixture(scope="session")
def repository() -> Path:
    """The checkout that is tested; tests only read it."""
    return REPOSITORY


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the grader and its katas, to change at will."""
    root = tmp_path / "copy"
    for folder in ("grader", "katas", "solutions"):
        shutil.copytree(
            REPOSITORY / folder, root / folder, ignore=shutil.ignore_patterns("__pycache__")
        )
    return root


@pytest.fixture
def stage(tmp_path: Path, repository: Path) -> Path:
    """A project of three small katas, whose engine needs no torch."""
    root = tmp_path / "stage"
    ignore = shutil.ignore_patterns("__pycache__", "engine", "specs")
    shutil.copytree(repository / "grader", root / "grader", ignore=ignore)
    shutil.copytree(repository / "tests" / "stage", root, dirs_exist_ok=True)
    return root


RunPython = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def run_python() -> RunPython:
    """Run Python in a folder, with that folder's grader and not the installed one."""

    def run(
        folder: Path, *arguments: str, stdin: IO[str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=folder,
            stdin=stdin,
            env=os.environ | {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            encoding="utf-8",
            timeout=300,
            check=False,
        )

    return run


@pytest.fixture(scope="session", autouse=True)
def _the_checkout_is_left_alone() -> Iterator[None]:
    if "CI" not in os.environ:  # at a desk, somebody may be editing while the tests run
        yield
        return
    before = _fingerprint()
    yield
    assert _fingerprint() == before, "a test changed, left or removed files of the checkout"


def _fingerprint() -> dict[str, str]:
    folders = ("katas", "solutions", "grader", "tests", ".grader")
    paths = [path for name in folders for path in (REPOSITORY / name).rglob("*")]
    paths += REPOSITORY.glob("*")
    return {
        path.relative_to(REPOSITORY).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in paths
        if path.is_file() and "__pycache__" not in path.parts
    }
