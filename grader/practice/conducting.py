"""Conduct an interview: begin its rounds, look at the answers, grade, and end it."""

from __future__ import annotations

import random
import stat
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from pathlib import Path

from grader.catalog import Entry
from grader.errors import UsageError
from grader.isolation.endings import not_started
from grader.isolation.reading import LARGEST, stub, unwritten
from grader.model import Verdict
from grader.practice import scoring
from grader.practice.answers import TESTS, folder_of, tests_of, there, write
from grader.practice.clock import now, shown
from grader.practice.history import History
from grader.practice.interviews import LEFT_OUT, Interview, Rated, Round, running, update
from grader.practice.judging import Judge
from grader.practice.measuring import measure
from grader.practice.planting import BUGS, MOST_BUGS, Planted, left, plant_some
from grader.practice.schedule import review, reviewed


class Conductor:
    """One running interview, saved after every step.

    Another command may be at the same interview: each change is made to what
    is in the history by then, and a round that was ended meanwhile stays so.
    `judges` gives a Judge for as long as one step needs it.
    """

    def __init__(
        self,
        history: History,
        interview: Interview,
        entries: Sequence[Entry],
        judges: Callable[[], AbstractContextManager[Judge]] = Judge,
    ) -> None:
        self.history = history
        self.interview = interview
        self.entries = {entry.slug: entry for entry in entries}
        self.judges = judges

    # --- what is under way -----------------------------------------------------

    @property
    def round(self) -> Round | None:
        return self.interview.round

    def entry(self, found: Round) -> Entry:
        if found.slug not in self.entries:
            raise UsageError(f"the kata {found.slug} of this interview is not there any more")
        return self.entries[found.slug]

    def change(self, change: Callable[[Round], Round]) -> None:
        """Change the round under way, and save."""
        number = self.interview.index

        def changed(interview: Interview) -> Interview:
            if interview.index != number:
                raise UsageError("the round was ended by another command meanwhile")
            return interview.with_round(number, change(interview.rounds[number]))

        self.interview = update(self.history, self.interview.uid, changed)

    def note_time(self) -> None:
        """Save how far the clock is, so that one that is set back gives no time back."""
        self.interview = update(self.history, self.interview.uid, lambda interview: interview)

    def refresh(self) -> bool:
        """Take over what other commands did; False where the interview was ended by one."""
        found = running(self.history)
        if found is None or found.uid != self.interview.uid:
            return False
        self.interview = replace(found, seen=max(found.seen, self.interview.seen))
        return True

    def left(self) -> float:
        """Return the seconds left."""
        return self.interview.left(now())

    def over(self) -> bool:
        """Tell whether the time is up, or all rounds are done."""
        return self.left() <= 0 or self.round is None

    # --- steps -------------------------------------------------------------------

    def begin_round(self) -> None:
        """Write what the round under way starts from, unless it has begun."""
        found = self.round
        if found is None or found.started is not None:
            return
        file, text, bugs = "", "", ()
        if found.kind != "questions":
            entry = self.entry(found)
            path = self.folder() / f"{self.interview.index + 1}_{entry.stem}.py"
            try:
                text, bugs = self.first_text(entry, found)
            except UsageError:
                # Nobody's fault, and no reason to be stuck: the round is left out.
                self.change(lambda each: replace(each, ended=self.at(), remark=LEFT_OUT))
                self.begin_round()
                return
            write(path, text)
            if found.kind == "build" and not tests_of(path).exists():
                write(tests_of(path), TESTS)
            file = str(path)
        self.change(
            lambda each: replace(each, started=self.at(), file=file, snapshot=text, bugs=bugs)
        )

    def prepare(self) -> None:
        """Begin the first round, and have the clock start when it is ready.

        Raises UsageError, with the interview abandoned, where its files cannot be written.
        """
        try:
            self.folder().mkdir(parents=True, exist_ok=True)
        except OSError as error:
            self.abandon()
            raise UsageError(f"{self.folder()} cannot be written: {error.strerror}") from error
        self.begin_round()
        self.interview = update(self.history, self.interview.uid, _starting_now)

    def at(self) -> float:
        """Return what the interview's clock shows: never more than its end."""
        return min(max(now(), self.interview.seen), self.interview.ends)

    def folder(self) -> Path:
        return folder_of(self.interview)

    def first_text(self, entry: Entry, found: Round) -> tuple[str, tuple[str, ...]]:
        if found.kind == "build":
            return stub(entry, "blank"), ()
        before = self.interview.rounds[: self.interview.index]
        most = min(BUGS + sum(each.kind == "debug" for each in before), MOST_BUGS)
        planted = self._planted(entry, most)
        return planted.source, planted.bugs

    def _planted(self, entry: Entry, most: int) -> Planted:
        """Return a solution with as many bugs as go together: `most`, but at least BUGS."""
        solution = entry.solution_path.read_text(encoding="utf-8")
        seed = random.Random(self.interview.uid).randrange(10_000)  # noqa: S311 - a choice
        with self.judges() as judge:

            def grade(source: bytes, bugs: tuple[str, ...]) -> Verdict:
                return judge.grade(entry, source, entry.stem, bugs)

            for count in range(most, BUGS, -1):
                with suppress(UsageError):
                    return plant_some(entry.load_spec(), solution, count, seed, grade)
            return plant_some(entry.load_spec(), solution, BUGS, seed, grade)

    def look(self) -> str:
        """Keep what the file holds now, if there is time; return what there is to say of it."""
        found = self.round
        if found is None or not found.file:
            return ""
        path = Path(found.file)
        try:
            about = there(path).stat()
            # What was saved after the end does not count.
            if shown(about.st_mtime) > self.interview.ends and self.over():
                return "what was saved after the time was up does not count"
            if not stat.S_ISREG(about.st_mode):
                return f"{path.name} is no file any more; what was there before counts"
            if about.st_size > LARGEST:
                return f"{path.name} is too large to be an answer; what was there before counts"
            text = path.read_bytes().decode("utf-8", "surrogateescape")
        except FileNotFoundError:
            write(path, found.snapshot, over=False)
            return f"{path.name} was gone; it is back as it was last seen"
        except OSError as error:
            return f"{path.name} cannot be read ({error.strerror}); what was there before counts"
        if text != found.snapshot:
            # In mind first: where it cannot be kept, it can be graded all the same.
            seen = replace(found, snapshot=text)
            self.interview = self.interview.with_round(self.interview.index, seen)
            self.change(lambda each: replace(each, snapshot=text))
        return ""

    def grade(self) -> Verdict:
        """Grade the answer of the round under way as it was last seen."""
        found = self.round
        assert found is not None  # noqa: S101 - asked before
        entry = self.entry(found)
        source = found.snapshot.encode("utf-8", "surrogateescape")
        name = Path(found.file).name
        if unwritten(entry, source):
            return not_started(entry, name)
        with self.judges() as judge:
            return judge.grade(entry, source, name, found.bugs or None)

    def note(self, verdict: Verdict, *, asked: bool = True) -> None:
        """Keep a verdict on the answer of the round under way.

        Only what was `asked` for counts as an attempt; a look at the stub is none,
        and a fault of the grader is not kept at all.
        """
        found = self.round
        if found is None or verdict.status == "grader_error":
            return
        kata = self.entry(found).load_spec()
        at = self.at()
        counted = asked and verdict.status != "not_started"
        passed = verdict.status == "passed"
        remaining = left(found.bugs, verdict) if found.bugs else None
        self.change(
            lambda each: replace(
                each,
                checks=each.checks + counted,
                first=each.first or (at if counted else None),
                passed=(each.passed or at) if passed else None,
                status=verdict.status,
                score=verdict.score,
                edges=scoring.edges(kata, verdict),
                loops=scoring.loops(kata, verdict),
                mended=None if remaining is None else len(each.bugs) - remaining,
                met=tuple(dict.fromkeys([*each.met, *(bug.id for bug in verdict.bugs)])),
            )
        )

    def take_hint(self) -> None:
        """Count a hint."""
        self.change(lambda each: replace(each, hints=each.hints + 1))

    def answer(self, text: str, points: tuple[int, ...]) -> None:
        """Keep the answer to the question at hand, and its rating."""
        self.change(lambda each: replace(each, answers=(*each.answers, Rated(text, points))))

    def close_round(self) -> None:
        """Grade what was last seen, measure the tests, and end the round."""
        found = self.round
        if found is None:
            return
        tests, remark = found.tests, found.remark
        if found.kind != "questions" and found.started is not None:
            self.look()
            self.note(self.grade(), asked=False)
            if found.kind == "build":
                tests, remark = self.measured(found)
        self.change(lambda each: replace(each, ended=self.at(), tests=tests, remark=remark))

    def measured(self, found: Round) -> tuple[float | None, str]:
        """Return the share of bugs that the learner's own tests catch, and that in words."""
        entry = self.entry(found)
        path = tests_of(Path(found.file))
        try:
            if not path.is_file():
                return None, "no tests were written"
            tests = path.read_text(encoding="utf-8", errors="replace")
        except OSError as error:
            return None, f"the tests cannot be read: {error.strerror}"
        solution = entry.solution_path.read_text(encoding="utf-8")
        with self.judges() as judge:
            result = measure(
                entry.load_spec(),
                solution,
                tests,
                lambda source, name: judge.call(entry, source, path.name, name),
            )
        return result.share, result.words

    def finish(self) -> None:
        """End every round, tell the schedule how it went, and work out the scorecard."""
        while self.round is not None:
            self.close_round()
        for found in self.interview.rounds:
            rating = scoring.rating(found, self.entry(found).load_spec())
            # Whoever was stopped right here does it again: each counts once.
            if rating is not None and reviewed(self.history, found.slug) < self.interview.at:
                review(self.history, found.slug, rating, now())
        parts = scoring.card(self.interview, tuple(self.entries.values()))
        self.interview = update(
            self.history,
            self.interview.uid,
            lambda each: replace(each, state="finished", card=parts),
        )

    def abandon(self) -> None:
        """End the interview without a score; its files stay."""
        self.interview = update(
            self.history, self.interview.uid, lambda each: replace(each, state="abandoned")
        )


def _starting_now(interview: Interview) -> Interview:
    at = max(now(), interview.seen)
    number = interview.index
    return replace(interview, at=at).with_round(
        number, replace(interview.rounds[number], started=at)
    )
