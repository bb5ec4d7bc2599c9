"""`dev check`: prove that katas do what they promise.

Every stub is not started (or fails by the slip it is handed out with), every
solution passes, and every known bug fails and is called by its name. One line
per finding; silence is the proof.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Protocol

from grader.catalog import ROOT, Entry, find
from grader.dev.places import solved
from grader.dev.reporting import console, guarded, parser
from grader.dev.statements import differences
from grader.dev.strays import strays
from grader.dev.texts import faults_of_texts
from grader.errors import GraderError, PatchError, SpecError
from grader.isolation.reading import handed_out, has_slip
from grader.model import Bug, Kata, Verdict
from grader.patching import patch

REPORT_VERSION = 1
# The name under which the solution stands among bugs that behave alike.
SOLUTION = ""


@dataclass(frozen=True)
class Finding:
    """One thing to mend. `kata` is empty for a finding about the whole tree."""

    kata: str
    rule: str
    message: str

    def __str__(self) -> str:
        return f"{self.kata or 'tree'} · {self.rule}: {self.message}"


class Grade(Protocol):
    """How a source is graded as the answer to a kata with the given solution."""

    def __call__(
        self,
        kata: Kata,
        source: bytes,
        path: str,
        *,
        solution: str,
        examples: int | None = None,
    ) -> Verdict: ...


@dataclass(frozen=True)
class Engine:
    """What the proof needs of the grader, so that it can be tested without."""

    grade: Grade
    indistinguishable: Callable[[Kata, str], Sequence[Sequence[str]]]


def check(argv: Sequence[str], *, root: Path = ROOT) -> int:
    """Prove every kata, or those named; print one line per finding, exit 1 on any.

    Strays are looked for only when all katas are proved. With `--json`, one
    object: version, katas proved, findings.
    """
    options = parser("check", "Prove that stubs, solutions and known bugs do what they promise.")
    options.add_argument("katas", nargs="*", metavar="kata")
    options.add_argument("--json", action="store_true", help="print one JSON object")

    def run() -> int:
        asked = options.parse_args(argv)
        stems = _stems(asked.katas, root)
        findings: list[Finding] = []
        if not asked.katas:
            findings += (Finding("", "strays", message) for message in strays(root))
        for found in _prove_all(stems):
            findings += found
            if not asked.json:
                for finding in found:
                    console().print(str(finding))
        if asked.json:
            report = {
                "version": REPORT_VERSION,
                "katas": [_short(stem) for stem in stems],
                "findings": [asdict(finding) for finding in findings],
            }
            sys.stdout.write(json.dumps(report, indent=2) + "\n")
        else:
            for finding in findings:
                if not finding.kata:
                    console().print(str(finding))
            console().print(_closing(len(stems), len(findings)))
        return 1 if findings else 0

    return guarded(run)


def _closing(katas: int, findings: int) -> str:
    what = f"{katas} kata{'s' * (katas != 1)}"
    return f"{what}: {findings or 'no'} finding{'s' * (findings != 1)}"


def _stems(names: Sequence[str], root: Path) -> list[str]:
    # Not the catalog's list: that refuses to list anything as long as one kata is not complete.
    entries = solved(root)
    chosen = [find(name, among=entries) for name in names] if names else entries
    return list(dict.fromkeys(entry.stem for entry in chosen))


def _short(stem: str) -> str:
    return stem.partition("_")[0]


def _prove_all(stems: Sequence[str]) -> Iterator[tuple[Finding, ...]]:
    workers = min(len(stems), os.cpu_count() or 1)
    if workers <= 1:
        yield from map(prove, stems)
        return
    # Spawned, not forked: a process that has used torch's threads hangs when forked.
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        # The first katas are small: begun last, they leave no core without work for long.
        proofs = {stem: pool.submit(prove, stem) for stem in reversed(stems)}
        try:
            for stem in stems:
                yield proofs[stem].result()
        except BrokenProcessPool as error:
            raise GraderError(
                "a process that proved a kata died; prove them one by one to see which"
            ) from error


def prove(stem: str) -> tuple[Finding, ...]:
    """Prove one kata of the catalog with the real grader.

    Whatever goes wrong is a finding too, so that one broken kata does not hide
    the state of the others.
    """
    kata = _short(stem)
    try:
        import torch

        from grader.engine.diagnosing import indistinguishable
        from grader.engine.grading import grade
        from grader.engine.mutants import Store

        torch.set_num_threads(1)
        entry = find(stem, among=solved(ROOT))
        # Every variant is compared with every other: their outcomes are computed once.
        spec = entry.load_spec()
        store = Store(spec, entry.solution_path.read_text(encoding="utf-8"))
        engine = Engine(partial(grade, store=store), indistinguishable)
        return tuple(prove_kata(spec, entry, engine))
    except GraderError as error:
        return (Finding(kata, "fault", str(error)),)
    except Exception as error:  # noqa: BLE001 - the author needs to see any of them
        last = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(last.filename).name}:{last.lineno}"
        return (Finding(kata, "fault", f"{type(error).__name__}: {error} ({where})"),)


def prove_kata(kata: Kata, entry: Entry, engine: Engine) -> Iterator[Finding]:
    """Yield everything that is wrong with one kata."""

    def found(faults: Iterable[tuple[str, str]]) -> Iterator[Finding]:
        return (Finding(_short(entry.stem), rule, message) for rule, message in faults)

    solution = entry.solution_path.read_text(encoding="utf-8")
    if (kata.number, kata.stem) != (entry.number, entry.stem):
        yield from found([("ids", f"the spec calls itself {kata.number}, {kata.stem}")])
    yield from found(faults_of_texts(kata))
    yield from found(_stub(kata, entry, solution, engine))
    yield from found(_solution(kata, entry, solution, engine))
    alike = _declared(kata)
    for bug in kata.bugs:
        yield from found(_bug(kata, bug, solution, alike, engine))
    yield from found(_told_apart(kata, solution, alike, engine))


def _stub(kata: Kata, entry: Entry, solution: str, engine: Engine) -> Iterator[tuple[str, str]]:
    try:
        source = entry.stub_path.read_bytes()
    except OSError as error:
        yield "stub", f"cannot be read: {error.strerror}"
        return
    try:
        told = list(differences(solution, source.decode()))
    except (SyntaxError, UnicodeDecodeError) as error:
        yield "stub", f"does not parse: {error}"
        return
    yield from (("stub", message) for message in told)
    try:
        if not told and source != handed_out(kata, solution).encode():
            yield "stub", "is not what the solution generates; dev stubs writes it"
    except (SpecError, PatchError) as error:
        yield "stub", str(error)
    verdict = engine.grade(kata, source, str(entry.stub_path), solution=solution)
    wanted = "failed" if has_slip(kata) else "not_started"
    if verdict.status != wanted:
        yield "stub", f"is graded {verdict.status!r}, not {wanted!r}"
    elif has_slip(kata) and _told(verdict) != f"{kata.slip} (exact)":
        yield "stub", f"the slip {kata.slip} is not named; the diagnosis is {_told(verdict)}"


def _solution(kata: Kata, entry: Entry, source: str, engine: Engine) -> Iterator[tuple[str, str]]:
    path = str(entry.solution_path)
    verdict = engine.grade(kata, source.encode(), path, solution=source)
    if verdict.status != "passed":
        failed = [f"{c.name}: {c.message}" for c in verdict.checks if c.status == "failed"]
        yield "solution", f"is graded {verdict.status!r} ({'; '.join(failed) or 'no check failed'})"
    for bug in verdict.bugs:
        yield "solution", f"is taken for the bug {bug.id}"


def _bug(
    kata: Kata, bug: Bug, solution: str, alike: Mapping[str, frozenset[str]], engine: Engine
) -> Iterator[tuple[str, str]]:
    for number, edits in enumerate(bug.variants, start=1):
        what = f"bug {bug.id}" + (f", variant {number}" if len(bug.variants) > 1 else "")
        try:
            source = patch(solution, edits)
            compile(source, what, "exec", dont_inherit=True)
        except PatchError as error:
            yield "patches", f"{what}: {error}"
            continue
        except SyntaxError as error:
            yield "patches", f"{what}: does not compile: {error}"
            continue
        # The probe bank alone has to catch and name a known bug; exploring only costs time.
        verdict = engine.grade(
            kata, source.encode(), f"{kata.stem}.py", solution=solution, examples=0
        )
        if verdict.status == "passed":
            yield "bugs", f"{what}: passes every required check"
        elif verdict.status != "failed":
            yield "bugs", f"{what}: is graded {verdict.status!r}, not 'failed'"
        elif not (_exact(verdict) & alike.get(bug.id, frozenset({bug.id}))):
            yield "bugs", f"{what}: is not named; the diagnosis is {_told(verdict)}"


def _told(verdict: Verdict) -> str:
    return ", ".join(f"{bug.id} ({bug.confidence})" for bug in verdict.bugs) or "nothing"


def _exact(verdict: Verdict) -> frozenset[str]:
    exact = [bug for bug in verdict.bugs if bug.confidence == "exact"]
    return frozenset(name for bug in exact for name in (bug.id, *bug.same_as))


def _declared(kata: Kata) -> dict[str, frozenset[str]]:
    """Map each bug to those declared equal to it, itself included."""
    return {bug_id: frozenset(group) for group in kata.equal for bug_id in group}


def _told_apart(
    kata: Kata, solution: str, alike: Mapping[str, frozenset[str]], engine: Engine
) -> Iterator[tuple[str, str]]:
    groups = [frozenset(group) for group in engine.indistinguishable(kata, solution)]
    for group in groups:
        names = ", ".join(sorted(group - {SOLUTION}))
        if SOLUTION in group:
            yield "equal", f"{names}: no probe tells this from the solution"
        elif any(group - alike.get(name, frozenset()) - {name} for name in group):
            yield "equal", f"{names}: no probe tells them apart"
    for declared in kata.equal:
        if not any(frozenset(declared) <= group for group in groups):
            yield "equal", f"{', '.join(declared)}: declared equal, but a probe tells them apart"
