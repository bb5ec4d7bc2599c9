"""Files to grade, and their verdicts on the screen: what commands and the watcher share."""

from __future__ import annotations

import contextlib
import os
import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from grader.catalog import ROOT, Entry, katas
from grader.isolation.parent import Job, Pool
from grader.isolation.reading import has_slip, read, state
from grader.model import Verdict

if TYPE_CHECKING:
    from grader.views.listing import Row
    from grader.views.screen import Screen
    from grader.views.terminal import Context

# Each process holds torch; a desk with many cores has other things to do as well.
MOST_PROCESSES = 8


@dataclass(frozen=True)
class Submission:
    """One file as the answer to one kata. `again` is the command that grades it again."""

    entry: Entry
    path: Path
    again: str

    @property
    def shown(self) -> str:
        return written(self.path)


@dataclass(frozen=True)
class Settings:
    """How to grade, and what to show of it."""

    examples: int | None = None
    seed: int = 0
    timeout: float = 20.0
    plain: bool = False
    color: bool = True
    python: bool = False
    silent: bool = False


def submissions(
    entries: Sequence[Entry], files: Sequence[str], settings: Settings
) -> list[Submission]:
    """Return what to grade: every file for the one kata, else each kata's own file."""

    def again(entry: Entry, file: str | None) -> str:
        words = [f"python -m grader {entry.name}"]
        words += [] if file is None else [f"--file {shlex.quote(file)}"]
        words += [] if settings.examples is None else [f"--examples {settings.examples}"]
        words += [f"--seed {settings.seed}"] if settings.seed else []
        return " ".join(words)

    if files:
        (entry,) = entries
        return [Submission(entry, Path.cwd() / file, again(entry, file)) for file in files]
    return [Submission(entry, entry.stub_path, again(entry, None)) for entry in entries]


def grade(
    asked: Sequence[Submission],
    settings: Settings,
    processes: int,
    interrupted: Callable[[], bool],
    verdicts: list[Verdict],
) -> None:
    """Grade and show one after the other; `verdicts` has those that were reached, whatever comes.

    Files that take some grading are spread over processes; the order stays.
    """
    files = [read(each.entry, each.path, each.shown) for each in asked]
    jobs = [
        Job(each.entry, each.shown, file, settings.examples, settings.seed)
        for each, file in zip(asked, files, strict=True)
        if isinstance(file, bytes)
    ]
    size = max(1, min(processes, len(jobs)))
    with Pool(size, settings.timeout, interrupted) as pool:
        if jobs:
            pool.warm()  # before rich, so that both are loaded at the same time
        from grader.views.screen import Screen

        color = settings.color and not settings.plain
        err = Screen(sys.stderr, plain=settings.plain, color=color)
        out = None if settings.silent else Screen(sys.stdout, plain=settings.plain, color=color)
        several = len(asked) > 1
        title = f"{len(jobs)} files" if size > 1 else ""
        bars: list[Callable[[float, str], None]] = []

        def progress(number: int, part: float, words: str) -> None:
            for update in bars[-1:]:
                update(part if size == 1 else (number + part) / len(jobs), words)

        found = pool.grade(jobs, progress)
        for each, file in zip(asked, files, strict=True):
            with err.bar(title or each.entry.name) as update:
                bars.append(update)
                verdict = file if isinstance(file, Verdict) else next(found)
            verdicts.append(verdict)
            if out:
                show(out, each, verdict, python=settings.python, brief=several)
                if several:
                    out.line()
        if out and several:
            from grader.views import terminal

            terminal.summarize(out, verdicts)


def show(
    screen: Screen,
    submission: Submission,
    verdict: Verdict,
    *,
    python: bool = False,
    brief: bool = False,
) -> None:
    """Print one verdict."""
    from grader.views import terminal

    terminal.show(screen, verdict, context(submission), python=python, brief=brief)


def context(submission: Submission) -> Context:
    """Return what the view has to know beside the verdict."""
    from grader.views.terminal import Context

    after = following(submission.entry)
    return Context(
        submission.entry.load_spec().title,
        submission.again,
        f"python -m grader {after.name}" if after else "",
    )


def rows_of_katas() -> list[Row]:
    """Return what a list of all katas shows."""
    from grader.views.listing import Row

    return [
        Row(
            e.number,
            e.name,
            spec.title,
            state(e),
            spec.minutes,
            written(e.stub_path),
            has_slip(spec),
        )
        for e in katas()
        for spec in [e.load_spec()]
    ]


def following(entry: Entry) -> Entry | None:
    """Return the kata to go on with: the next that was not begun, else the next."""
    later = [each for each in katas() if each.number > entry.number]
    untouched = next((each for each in later if state(each) == "not started"), None)
    return untouched or next(iter(later), None)


def processes() -> int:
    """Return how many gradings to run at a time."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return min(cores or 1, MOST_PROCESSES)


def written(path: Path) -> str:
    """Write a path as one would type it here."""
    with contextlib.suppress(ValueError, OSError):
        return str(path.relative_to(Path.cwd()))
    with contextlib.suppress(ValueError, OSError):
        # From a folder of the project, ../katas/… is what an editor opens.
        if Path.cwd().is_relative_to(ROOT):
            return os.path.relpath(path)
    return str(path)
