"""Grade one answer to one kata: from source bytes to a verdict."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, product

from grader import catalog
from grader.engine.bench import Answer, Bench, LocalAnswer
from grader.engine.checking import OBSERVE, judge, unwritten
from grader.engine.comparing import INEXACT, compare_returned, same_behaviour
from grader.engine.contract import Problem
from grader.engine.diagnosing import Diagnosis, bank, gather
from grader.engine.ending import smallest_ending
from grader.engine.mutants import Store
from grader.engine.showing import counterexample
from grader.errors import AnswerEnded, NotLoadable
from grader.model import (
    ENDINGS,
    Case,
    Check,
    CheckResult,
    Kata,
    Mismatch,
    NamedBug,
    Recipe,
    Status,
    Verdict,
)

CHANGING = "it keeps state from earlier calls, or is random"
Progress = Callable[[float, str], None]
# With a wrong answer, assignments of unnamed layers are told apart on this many probes.
ENOUGH_PROBES = 6
# So many ways to set the words of a recipe are tried on the smallest sizes.
WORDS_TRIED = 24


def grade(
    kata: Kata,
    source: bytes,
    path: str,
    *,
    solution: str | None = None,
    examples: int | None = None,
    seed: int = 0,
    progress: Progress | None = None,
    store: Store | None = None,
    preliminary: Callable[[Verdict], None] | None = None,
    load: Callable[[bytes, str], Answer] = LocalAnswer,
    how: type[Grading] | None = None,
) -> Verdict:
    """Grade the file `source`, which lies at `path`, as an answer to `kata`.

    `solution` is the reference's source, by default the one in `solutions/`.
    `examples` overrides how many Hypothesis examples each check explores, 0 for
    none. `store` keeps what is known of the solution and its mutants from one
    grading to the next. `preliminary` is told the verdict before the bugs are
    named, which may take longer. `load` says where the answer runs, `how` grades
    otherwise than in full. The same source, examples and seed always give the
    same verdict.
    """
    started = time.perf_counter()
    try:
        answer = load(source, path)
    except AnswerEnded as ended:
        return verdict(kata, ended.status, path, started, [_ending(ended)])
    except NotLoadable as error:
        result = CheckResult(
            "file_loads", "the file can be loaded", "failed", error.message, error.line
        )
        return verdict(kata, "not_loadable", path, started, [result])
    if solution is None:
        solution = catalog.find(str(kata.number)).solution_path.read_text(encoding="utf-8")
    store = store or Store(kata, solution)
    store.tidy()
    grading = (how or Grading)(kata, answer, store, path, examples, seed, progress, preliminary)
    return grading.run(started)


@dataclass
class Grading:
    """One grading under way."""

    kata: Kata
    answer: Answer
    store: Store
    path: str
    examples: int | None
    seed: int
    progress: Progress | None
    preliminary: Callable[[Verdict], None] | None
    results: list[CheckResult] = field(default_factory=list[CheckResult])
    notes: list[str] = field(default_factory=list[str])
    failing: list[Case] = field(default_factory=list[Case])
    smallest: list[Recipe] = field(default_factory=list[Recipe])

    def run(self, started: float) -> Verdict:
        """Return the verdict, also where the answer does not live to see it."""
        try:
            return self.graded(started)
        except AnswerEnded as ended:
            result = self.smallest_ending(ended)
            return verdict(
                self.kata, ended.status, self.path, started, [result, *self.results], (), self.notes
            )

    def graded(self, started: float) -> Verdict:
        kata = self.kata
        self.tell(0.0, "loading")
        faults = {problem.target: problem for problem in self.answer.problems(kata.targets)}
        if len(faults) == len(kata.targets):
            return verdict(kata, "not_loadable", self.path, started, _problems(faults.values()))
        self.bench = Bench(kata, self.answer, self.store.reference, self.path)
        waiting: dict[str, CheckResult] = {}
        for target in kata.targets:
            if target.name in faults:
                (waiting[target.name],) = _problems([faults[target.name]])
            else:
                unfinished = self.unfinished(target.name)
                if unfinished:
                    waiting[target.name] = unfinished
        if len(waiting) == len(kata.targets) and not faults:
            return verdict(kata, "not_started", self.path, started, list(waiting.values()))
        self.results += waiting.values()
        for target in kata.targets:
            if target.name not in waiting:
                self.choose_assignment(target.name)
        self.check_all(set(waiting))
        if self.preliminary is not None:
            self.preliminary(self.verdict(started, ()))
        bugs: list[NamedBug] = []
        try:
            self.replay()
            bugs = self.diagnose(set(waiting))
        except AnswerEnded as ended:  # on a probe that no check had come to
            self.notes.append(f"on another case, {ended.message.splitlines()[0]}")
        return self.verdict(started, bugs)

    def smallest_ending(self, ended: AnswerEnded) -> CheckResult:
        """Return what to say of an answer that hung or died: the smallest case that does it."""
        if not hasattr(self, "bench"):
            return _ending(ended)
        self.tell(0.9, "looking for the smallest such case")
        case, ended = smallest_ending(self.bench, ended)
        if case is None:
            return _ending(ended)
        mismatch = Mismatch(ended.message, line=ended.line)
        shown = counterexample(self.bench, case, self.bench.recipe_of(case), mismatch, state=False)
        return replace(_ending(ended), counterexample=shown)

    def replay(self) -> None:
        """Run the first failing case on a fresh start; say so where the answer is another.

        What fails only after other calls, or only sometimes, is hard to find
        for whoever looks at one call.
        """
        if not self.failing:
            return
        case = self.failing[0]
        before = self.bench.got(case)
        self.bench.restart()
        after = self.bench.run(self.bench.prepared(case))
        if not same_behaviour(case, before, after):
            self.notes.insert(0, "on a fresh start the same call does something else: " + CHANGING)

    def verdict(self, started: float, bugs: Sequence[NamedBug]) -> Verdict:
        failed = any(r.status == "failed" for r in self.results)
        if failed:
            # Beside a value that is wrong, one that is only inexact has the same cause.
            self.notes = [note for note in self.notes if not note.startswith(INEXACT)]
        return verdict(
            self.kata,
            "failed" if failed else "passed",
            self.path,
            started,
            self.results,
            bugs,
            list(dict.fromkeys(self.notes)),
        )

    def tell(self, share: float, title: str) -> None:
        if self.progress is not None:
            self.progress(share, title)

    def unfinished(self, target: str) -> CheckResult | None:
        """Return a result saying so where a target still raises the stub's NotImplementedError."""
        calls = (c for c in bank(self.bench, self.kata, target) if not c.observe)
        case = next(calls, None)
        got = self.bench.got(case) if case is not None else None
        if got is None or got.raised is None or not unwritten(got):
            return None
        where = f" (line {got.raised.line})" if got.raised.line else ""
        return CheckResult(
            f"{target}_is_written",
            f"{target} is written",
            "failed",
            f"{target} still raises NotImplementedError{where}",
            got.raised.line,
        )

    def choose_assignment(self, target: str) -> None:
        """Settle which of the learner's layers is which, where their names do not say.

        Takes the first assignment that reproduces the solution on the whole
        bank, else the one that does so on most of a few probes.
        """
        cases = [
            case
            for case in bank(self.bench, self.kata, target)
            if not case.observe and case.init is not None
        ]
        if not cases or not cases[0].roles:
            return
        recipe = next(c.bank[0] for c in self.kata.checks if c.target == target and c.bank)
        seen = self.bench.got(self.bench.case(recipe, OBSERVE["layers"])).observed.get("layers", {})
        count = int(seen.get("assignments", 1))
        self.bench.absent[target] = tuple(seen.get("absent", ()))
        self.bench.forget(target)
        if count < 2:
            return
        scores: list[int] = []
        incomplete = False
        for index in range(count):
            self.read_layers(target, index)
            if all(self.reproduces(case) for case in cases):
                return
            incomplete = incomplete or bool(self.bench.got(cases[0]).missing)
            scores.append(sum(self.reproduces(case) for case in cases[:ENOUGH_PROBES]))
        # Mutants that lack layers are read by the first guess too.
        self.read_layers(target, 0 if incomplete else scores.index(max(scores)))

    def read_layers(self, target: str, assignment: int) -> None:
        self.bench.assignment[target] = assignment
        self.bench.forget(target)

    def reproduces(self, case: Case) -> bool:
        got = self.bench.got(case)
        if got.status != "returned":
            return False
        return not isinstance(compare_returned(case, self.bench.expected(case), got), Mismatch)

    def check_all(self, waiting: set[str]) -> None:
        status: dict[str, str] = {}
        checks = self.kata.checks
        for number, check in enumerate(checks):
            self.tell(number / len(checks) * 0.8, check.title)
            if check.target in waiting or any(status.get(name) != "passed" for name in check.after):
                status[check.name] = "skipped"
                if check.required:
                    self.results.append(CheckResult(check.name, check.title, "skipped"))
                continue
            failure = self.failure(check)
            status[check.name] = "passed" if failure is None else "failed"
            if not check.required:
                if failure is not None:
                    self.notes.append(f"{check.title}: {failure[1].message}")
                continue
            self.results.append(self.result(check, failure))

    def failure(self, check: Check) -> tuple[Recipe, Mismatch] | None:
        """Return the smallest failing recipe of a check: bank first, then Hypothesis."""
        examples = check.examples if self.examples is None else self.examples
        known: tuple[Recipe, Mismatch] | None = None
        drawn = (check.name, examples, self.seed)
        passing = self.store.memory.drawn(*drawn)
        self.announce(check, (*check.bank, *passing))
        for recipe in check.bank:
            mismatch = self.mismatch(check, recipe)
            if mismatch is not None:
                known = (recipe, mismatch)
                break
        if not check.draws or not examples:
            return known
        # While nothing fails, the same examples are drawn as for the last answer.
        if passing and known is None and not any(self.mismatch(check, each) for each in passing):
            return None
        for recipe in self.small_ones(check, known):
            mismatch = self.mismatch(check, recipe)
            if mismatch is not None:
                return recipe, mismatch
        # Hypothesis takes a while to import, and is not needed for what is known to pass.
        from grader.engine.exploring import smallest_failure

        tried: list[Recipe] = []

        def judged(recipe: Recipe) -> Mismatch | None:
            tried.append(recipe)
            return self.mismatch(check, recipe)

        found = smallest_failure(check, judged, examples, self.seed)
        if found:
            self.smallest.append(found[0])
        else:
            self.store.memory.keep_drawn(*drawn, tried)
        return found or known

    def small_ones(self, check: Check, known: tuple[Recipe, Mismatch] | None) -> Iterator[Recipe]:
        """Yield recipes of which none is smaller but by its words; most often one of them fails.

        What is smallest for one check most often is for the next.
        """
        axes = {name: axis for name, axis in check.draws.items() if isinstance(axis, list)}
        for words in islice(product(*axes.values()), WORDS_TRIED if known else 1):
            yield _drawn_near(check, dict(zip(axes, words, strict=True)))
        words = {n: v for n, v in (known[0] if known else {}).items() if isinstance(v, str)}
        for smaller in ({}, *self.smallest):
            yield _drawn_near(check, {**smaller, **words})

    def mismatch(self, check: Check, recipe: Recipe) -> Mismatch | None:
        finding = judge(self.bench, check, recipe)
        if isinstance(finding, str):
            self.notes.append(finding)
            return None
        if finding is None and check.watch == "values":
            case = self.bench.case(recipe)
            self.notes.extend(self.bench.got(case).notes)
        return finding

    def announce(self, check: Check, recipes: Sequence[Recipe]) -> None:
        cases: list[Case] = []
        for recipe in recipes:
            cases.append(self.case_of(check, recipe))
            if check.vary:
                cases.append(self.bench.case(recipe, frozenset(), check.vary))
        self.bench.announce(cases)

    def case_of(self, check: Check, recipe: Recipe) -> Case:
        return self.bench.case(recipe, OBSERVE.get(check.watch, frozenset()))

    def result(self, check: Check, failure: tuple[Recipe, Mismatch] | None) -> CheckResult:
        if failure is None:
            return CheckResult(check.name, check.title, "passed")
        recipe, mismatch = failure
        case = self.case_of(check, recipe)
        varied = self.bench.case(recipe, frozenset(), check.vary) if check.vary else None
        self.failing.append(case)
        return CheckResult(
            check.name,
            check.title,
            "failed",
            mismatch.message,
            mismatch.line,
            counterexample(self.bench, case, recipe, mismatch, varied),
        )

    def diagnose(self, waiting: set[str]) -> list[NamedBug]:
        """Name the bugs of each target that fails a check."""
        failed = {r.name for r in self.results if r.status == "failed"}
        targets = {c.target for c in self.kata.checks if c.name in failed} - waiting
        found: dict[str, NamedBug] = {}
        for target in (t.name for t in self.kata.targets if t.name in targets):
            self.tell(0.85, "naming the bug")
            cases = bank(self.bench, self.kata, target)
            cases += [case for case in self.failing if case.target == target]
            diagnosis = Diagnosis(self.kata, self.store, gather(self.bench, cases))
            for bug in diagnosis.run(known=found):
                found.setdefault(bug.id, bug)
        self.tell(1.0, "done")
        return list(found.values())


def _drawn_near(check: Check, recipe: Recipe) -> Recipe:
    """Return the recipe that the check draws nearest to another, simplest where it says nothing."""
    found: dict[str, int | str] = {}
    for name, axis in check.draws.items():
        value = recipe.get(name)
        if isinstance(axis, list):
            found[name] = value if value in axis else axis[0]
        else:
            low, high = axis
            found[name] = min(max(value, low), high) if isinstance(value, int) else low
    return found


def _problems(faults: Sequence[Problem] | object) -> list[CheckResult]:
    return [
        CheckResult(
            f"{problem.target}_is_there",
            f"{problem.target} is there",
            "failed",
            problem.message,
            problem.line,
        )
        for problem in faults  # type: ignore[attr-defined]
    ]


def _ending(ended: AnswerEnded) -> CheckResult:
    name, title = ENDINGS[ended.status]
    return CheckResult(name, title, "failed", ended.message, ended.line)


def verdict(
    kata: Kata,
    status: Status,
    path: str,
    started: float,
    checks: Sequence[CheckResult] = (),
    bugs: Sequence[NamedBug] = (),
    notes: Sequence[str] = (),
) -> Verdict:
    """Put a verdict together; the score is the share of required checks that passed."""
    passed = sum(result.status == "passed" for result in checks)
    slug = kata.stem.split("_", 1)[1].replace("_", "-")
    return Verdict(
        kata=f"kata{kata.number:02d}",
        slug=slug,
        status=status,
        score=round(passed / len(checks), 2) if checks and status != "not_started" else 0.0,
        seconds=round(time.perf_counter() - started, 3),
        path=path,
        checks=tuple(checks),
        bugs=tuple(bugs),
        notes=tuple(notes),
    )
