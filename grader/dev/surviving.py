"""`dev mutants`: measure that no wrong answer passes.

Every mutant of each solution, and of accepted answers in other styles, is graded
as far as its first failing check. One that passes is a survivor: a hole in the
checks, unless `equivalents.json` says why it is a right answer.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from difflib import unified_diff
from pathlib import Path

from grader.catalog import Entry, find_each, katas
from grader.dev.mutating import Mutant, mutants, plain
from grader.dev.pooling import REPORT_VERSION, grading
from grader.dev.reporting import console, guarded, parser
from grader.dev.styles import sources
from grader.errors import GraderError, UsageError
from grader.isolation.parent import Job
from grader.model import Verdict

EQUIVALENTS = Path(__file__).with_name("equivalents.json")
UNVIABLE = ("not_loadable", "not_started")


@dataclass(frozen=True)
class Subject:
    """One file whose mutants are graded. `name` says which, as in "kata3 nanogpt"."""

    entry: Entry
    style: str
    source: str

    @property
    def name(self) -> str:
        return f"{self.entry.name} {self.style}"


@dataclass
class Totals:
    """How many mutants were made, and what became of them."""

    made: int = 0
    viable: int = 0
    killed: int = 0
    equivalent: int = 0
    survived: int = 0
    named: int = 0

    def __str__(self) -> str:
        return (
            f"{self.made} made, {self.made - self.viable} not viable, {self.killed} killed "
            f"({self.named} named), {self.equivalent} equivalent, {self.survived} survived"
        )

    def add(self, other: Totals) -> None:
        for name, value in asdict(other).items():
            setattr(self, name, getattr(self, name) + value)


@dataclass
class Report:
    """What was measured: totals by file, the mutants that passed, entries that are stale."""

    totals: dict[str, Totals] = field(default_factory=dict[str, Totals])
    survivors: list[tuple[Subject, Mutant]] = field(default_factory=list[tuple[Subject, Mutant]])
    passed: set[str] = field(default_factory=set[str])
    faults: list[str] = field(default_factory=list[str])

    def by_kata(self) -> dict[str, Totals]:
        found: dict[str, Totals] = {}
        for name, totals in self.totals.items():
            found.setdefault(name.split()[0], Totals()).add(totals)
        return found

    def whole(self) -> Totals:
        found = Totals()
        for totals in self.totals.values():
            found.add(totals)
        return found


def mutate(argv: Sequence[str]) -> int:
    """Grade the mutants of every kata, or of those named; exit 1 if one survives.

    With `--json`, one object: the totals by kata, by file and in all, the
    survivors, the entries of `equivalents.json` that are stale, and the faults of
    the grader itself, which count as survivors.
    """
    options = parser("mutants", "Grade mechanical mutants of right answers; none may pass.")
    options.add_argument("katas", nargs="*", metavar="kata")
    options.add_argument("--style", action="append", help="only this file (may be given again)")
    options.add_argument("--unnamed", action="store_true", help="name no bugs, for speed")
    options.add_argument("--json", action="store_true", help="print one JSON object")

    def run() -> int:
        asked = options.parse_args(argv)
        entries = find_each(asked.katas) or katas()
        subjects = chosen(entries, asked.style)
        reasons = read_equivalents()
        report = Report()
        for subject, kept in measured(subjects, reasons, report, named=not asked.unnamed):
            if not asked.json:
                console().print(f"{subject.name}: {report.totals[subject.name]}")
                for mutant in kept:
                    console().print(diff(subject, mutant))
        stale = stale_entries(reasons, report, everything=not asked.katas and not asked.style)
        if asked.json:
            sys.stdout.write(json.dumps(as_data(report, stale), indent=2) + "\n")
        else:
            for name, totals in [*report.by_kata().items(), ("in all", report.whole())]:
                console().print(f"{name}: {totals}")
            for fault in report.faults:
                console().print(f"a fault of the grader: {fault}")
            for entry in stale:
                console().print(f"{EQUIVALENTS.name}: no such mutant passes: {entry}")
        return 1 if report.survivors or stale else 0

    return guarded(run)


def chosen(entries: Sequence[Entry], styles: Sequence[str] | None) -> list[Subject]:
    """Return the files to mutate; raises UsageError where a style is none of them."""
    subjects = [
        Subject(entry, style, source)
        for entry in entries
        for style, source in sources(entry).items()
    ]
    unknown = set(styles or ()) - {subject.style for subject in subjects}
    if unknown:
        known = ", ".join(dict.fromkeys(subject.style for subject in subjects))
        raise UsageError(f"--style {min(unknown)}: there is {known}")
    return [subject for subject in subjects if not styles or subject.style in styles]


def read_equivalents() -> dict[str, str]:
    """Return why each listed mutant is a right answer, by the file's name and the change."""
    listed: Mapping[str, Sequence[str]] = json.loads(EQUIVALENTS.read_text(encoding="utf-8"))
    return {key: reason for reason, keys in listed.items() for key in keys}


def key_of(subject: Subject, mutant: Mutant) -> str:
    return f"{subject.name} | {mutant.change}"


def measured(
    subjects: Sequence[Subject], reasons: Mapping[str, str], report: Report, *, named: bool = True
) -> Iterator[tuple[Subject, list[Mutant]]]:
    """Grade the mutants of each file; yield it with its survivors, and fill in the report.

    Raises GraderError where a file does not pass unchanged.
    """
    made = [mutants(subject.source) for subject in subjects]
    jobs: list[Job] = []
    for subject, its in zip(subjects, made, strict=True):
        texts = [plain(subject.source), *(mutant.source for mutant in its)]
        name = f"{subject.entry.stem}.py"
        depth = "named" if named else "unnamed"
        jobs += (Job(subject.entry, name, text.encode(), depth=depth) for text in texts)
    with grading() as grade:
        verdicts = grade(jobs)
        for subject, its in zip(subjects, made, strict=True):
            unchanged = next(verdicts)
            if unchanged.status != "passed":
                raise GraderError(
                    f"{subject.name} is graded {unchanged.status!r} with nothing changed"
                )
            rest = [next(verdicts) for _ in its]
            yield subject, counted(subject, its, rest, reasons, report)


def counted(
    subject: Subject,
    its: Sequence[Mutant],
    verdicts: Sequence[Verdict],
    reasons: Mapping[str, str],
    report: Report,
) -> list[Mutant]:
    """Fill in the report for the mutants of one file; return those that survived."""
    totals, kept = Totals(made=len(its)), list[Mutant]()
    for mutant, verdict in zip(its, verdicts, strict=True):
        key = key_of(subject, mutant)
        # What the grader itself fails on was not told to be wrong either.
        passed = verdict.status in ("passed", "grader_error")
        if verdict.status == "grader_error":
            report.faults.append(f"{key}: {'; '.join(verdict.notes)}")
        totals.viable += verdict.status not in UNVIABLE
        totals.killed += not passed and verdict.status not in UNVIABLE
        totals.named += any(bug.confidence == "exact" for bug in verdict.bugs)
        totals.equivalent += passed and key in reasons
        if passed:
            report.passed.add(key)
            if key not in reasons:
                totals.survived += 1
                kept.append(mutant)
    report.totals[subject.name] = totals
    report.survivors += ((subject, mutant) for mutant in kept)
    return kept


def stale_entries(
    reasons: Mapping[str, str], report: Report, *, everything: bool = False
) -> list[str]:
    """Return the listed mutants of the files graded that are not made any more, or are killed."""
    return [
        key
        for key in reasons
        if key not in report.passed and (everything or key.split(" | ")[0] in report.totals)
    ]


def diff(subject: Subject, mutant: Mutant) -> str:
    """Show a mutant beside the file it was made from."""
    lines = unified_diff(
        plain(subject.source).splitlines(),
        mutant.source.splitlines(),
        subject.name,
        f"{mutant.kind} in {mutant.where}",
        n=1,
        lineterm="",
    )
    return "\n".join(lines)


def as_data(report: Report, stale: Sequence[str]) -> dict[str, object]:
    """Return the report as JSON holds it."""
    return {
        "version": REPORT_VERSION,
        "katas": {name: asdict(totals) for name, totals in report.by_kata().items()},
        "files": {name: asdict(totals) for name, totals in report.totals.items()},
        "all": asdict(report.whole()),
        "survivors": [key_of(subject, mutant) for subject, mutant in report.survivors],
        "stale": list(stale),
        "faults": report.faults,
    }
