"""Conduct an interview: begin its rounds, look at the answers, grade, and end it."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from grader.catalog import Entry, home
from grader.errors import UsageError
from grader.isolation.reading import LARGEST, stub
from grader.model import Verdict
from grader.practice import scoring
from grader.practice.clock import now
from grader.practice.history import History
from grader.practice.interviews import BUGS, LEFT_OUT, Interview, Rated, Round, save
from grader.practice.judging import Judge
from grader.practice.measuring import measure
from grader.practice.planting import left, plant_some
from grader.practice.schedule import review

TESTS = """# Tests of your own, as functions test_… with assertions. What the kata asks for is
# there by its name; at the end they are run beside the solution and planted bugs.
"""


class Conductor:
    """One running interview, saved after every step."""

    def __init__(self, history: History, interview: Interview, entries: Sequence[Entry]) -> None:
        self.history = history
        self.interview = interview
        self.entries = {entry.slug: entry for entry in entries}

    # --- what is under way -----------------------------------------------------

    @property
    def round(self) -> Round | None:
        return self.interview.round

    def entry(self, found: Round) -> Entry:
        if found.slug not in self.entries:
            raise UsageError(f"the kata {found.slug} of this interview is not there any more")
        return self.entries[found.slug]

    def change(self, found: Round) -> None:
        """Put a changed round in place and save."""
        self.interview = save(self.history, self.interview.with_round(found))

    def over(self) -> bool:
        """Tell whether the time is up, or all rounds are done."""
        return self.interview.left(now()) <= 0 or self.round is None

    # --- steps -------------------------------------------------------------------

    def begin_round(self) -> None:
        """Write what the round under way starts from, unless it has begun."""
        found = self.round
        if found is None or found.started is not None:
            return
        started = replace(found, started=max(now(), self.interview.seen))
        if found.kind != "questions":
            entry = self.entry(found)
            number = self.interview.index + 1
            path = self.folder() / f"{number}_{entry.stem}.py"
            try:
                text, bugs = self.first_text(entry, found)
            except UsageError:
                # Nobody's fault, and no reason to be stuck: the round is left out.
                self.change(replace(found, ended=now(), remark=LEFT_OUT))
                self.begin_round()
                return
            write(path, text)
            if found.kind == "build":
                write(tests_of(path), TESTS)
            started = replace(started, file=str(path), snapshot=text, bugs=bugs)
        self.change(started)

    def folder(self) -> Path:
        return home() / "interviews" / self.interview.uid[:8]

    def first_text(self, entry: Entry, found: Round) -> tuple[str, tuple[str, ...]]:
        if found.kind == "build":
            return stub(entry, "blank"), ()
        solution = entry.solution_path.read_text(encoding="utf-8")
        seed = random.Random(self.interview.uid).randrange(10_000)  # noqa: S311 - a choice
        with Judge() as judge:
            planted = plant_some(
                entry.load_spec(),
                solution,
                BUGS,
                seed,
                lambda source, bugs: judge.grade(entry, source, entry.stem, bugs),
            )
        return planted.source, planted.bugs

    def look(self) -> str:
        """Keep what the file holds now, if there is time; return what there is to say of it."""
        found = self.round
        if found is None or not found.file:
            return ""
        path = Path(found.file)
        try:
            # What was saved after the end does not count.
            if path.stat().st_mtime > self.interview.ends and self.over():
                return "what was saved after the time was up does not count"
            if path.stat().st_size > LARGEST:
                return f"{path.name} is too large to be an answer; what was there before counts"
            text = path.read_bytes().decode("utf-8", "surrogateescape")
        except FileNotFoundError:
            write(path, found.snapshot)
            return f"{path.name} was gone; it is back as it was last seen"
        except OSError as error:
            return f"{path.name} cannot be read ({error.strerror}); what was there before counts"
        if text != found.snapshot:
            self.change(replace(found, snapshot=text))
        return ""

    def check(self) -> Verdict:
        """Grade the answer of the round under way as it was last seen."""
        found = self.round
        assert found is not None  # noqa: S101 - asked before
        entry = self.entry(found)
        kata = entry.load_spec()
        source = found.snapshot.encode("utf-8", "surrogateescape")
        with Judge() as judge:
            bugs = found.bugs or None
            verdict = judge.grade(entry, source, Path(found.file).name, bugs)
        if verdict.status == "grader_error":
            return verdict
        at = min(max(now(), self.interview.seen), self.interview.ends)
        passed = verdict.status == "passed"
        remaining = left(found.bugs, verdict) if found.bugs else None
        self.change(
            replace(
                found,
                checks=found.checks + 1,
                first=found.first or at,
                passed=(found.passed or at) if passed else None,
                status=verdict.status,
                score=verdict.score,
                edges=scoring.edges(kata, verdict),
                loops=scoring.loops(kata, verdict),
                mended=None if remaining is None else len(found.bugs) - remaining,
                met=tuple(dict.fromkeys([*found.met, *(bug.id for bug in verdict.bugs)])),
            )
        )
        return verdict

    def answer(self, text: str, points: tuple[int, ...]) -> None:
        """Keep the answer to the question at hand, and its rating."""
        found = self.round
        assert found is not None  # noqa: S101 - asked before
        self.change(replace(found, answers=(*found.answers, Rated(text, points))))

    def close_round(self) -> None:
        """Grade what was last seen, measure the tests, and end the round."""
        found = self.round
        if found is None:
            return
        if found.kind != "questions" and found.started is not None:
            self.look()
            self.check()
            found = self.round or found
            if found.kind == "build":
                found = self.measured(found)
        ended = min(max(now(), self.interview.seen), self.interview.ends)
        self.change(replace(found, ended=ended))

    def measured(self, found: Round) -> Round:
        entry = self.entry(found)
        path = tests_of(Path(found.file))
        try:
            tests = path.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return replace(found, tests=None, remark="no tests were written")
        solution = entry.solution_path.read_text(encoding="utf-8")
        with Judge() as judge:
            result = measure(
                entry.load_spec(),
                solution,
                tests,
                lambda source, name: judge.call(entry, source, path.name, name),
            )
        return replace(found, tests=result.share, remark=result.words)

    def finish(self) -> None:
        """End every round, write the scorecard, and tell the schedule how it went."""
        while self.round is not None:
            self.close_round()
        parts = scoring.card(self.interview, tuple(self.entries.values()))
        self.interview = save(self.history, replace(self.interview, state="finished", card=parts))
        for found in self.interview.rounds:
            if found.kind == "build" and found.passed:
                share = scoring.pace(found, self.entry(found).load_spec())
                rating = "easy" if share == 1.0 else "good" if share >= 0.5 else "hard"
                review(self.history, found.slug, rating, now())

    def abandon(self) -> None:
        """End the interview without a score; its files stay."""
        self.interview = save(self.history, replace(self.interview, state="abandoned"))


def tests_of(path: Path) -> Path:
    """Return the file for the learner's own tests beside an answer."""
    return path.with_name(f"{path.stem}_tests.py")


def write(path: Path, text: str) -> None:
    """Write a file of the interview; UsageError where that fails."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode("utf-8", "surrogateescape"))
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from error
