"""Judge what a spec says, without running anything."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from grader.model import Bug, Kata

KEBAB = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
FEWEST_QUESTIONS = 5


def faults_of_texts(kata: Kata) -> Iterator[tuple[str, str]]:
    """Yield (rule, message) for everything a spec leaves out or contradicts itself in."""
    yield from _frame(kata)
    yield from _checks(kata)
    for bug in kata.bugs:
        yield from _bug(bug)
    for bug_id, count in Counter(bug.id for bug in kata.bugs).items():
        if count > 1:
            yield "ids", f"bug {bug_id}: the id is used {count} times"
    yield from _equals(kata)
    if kata.slip and kata.slip not in {bug.id for bug in kata.bugs}:
        yield "ids", f"the slip {kata.slip!r} is no known bug"


def _frame(kata: Kata) -> Iterator[tuple[str, str]]:
    if not kata.title.strip():
        yield "texts", "the title is empty"
    if not 0 < kata.minutes <= kata.cap_minutes:
        yield "minutes", f"{kata.minutes} minutes do not fit a cap of {kata.cap_minutes}"
    if not kata.targets:
        yield "checks", "there is no target"
    if not kata.hints or not all(hint.strip() for hint in kata.hints):
        yield "texts", "there are no hints, or one is empty"
    if len(kata.questions) < FEWEST_QUESTIONS:
        yield "texts", f"{len(kata.questions)} questions; {FEWEST_QUESTIONS} are needed"
    for question in kata.questions:
        if not question.ask.strip():
            yield "texts", "a question is empty"
        if not question.points or not all(point.strip() for point in question.points):
            yield "texts", f"question {question.ask!r} has no points, or an empty one"


def _checks(kata: Kata) -> Iterator[tuple[str, str]]:
    targets = {target.name for target in kata.targets}
    earlier: set[str] = set()
    if not any(check.required for check in kata.checks):
        yield "checks", "no check is required, so nothing can fail"
    for check in kata.checks:
        if not check.title.strip():
            yield "texts", f"check {check.name}: the title is empty"
        if check.target not in targets:
            yield "checks", f"check {check.name}: there is no target {check.target!r}"
        if check.name in earlier:
            yield "ids", f"check {check.name}: the name is used twice"
        for name in check.after:
            if name not in earlier:
                yield "checks", f"check {check.name} waits on {name!r}, which does not come before"
        earlier.add(check.name)


def _bug(bug: Bug) -> Iterator[tuple[str, str]]:
    if not KEBAB.fullmatch(bug.id):
        yield "ids", f"bug {bug.id}: the id is not kebab-case"
    for name, text in (("says", bug.says), ("ask", bug.ask)):
        if not text.strip():
            yield "texts", f"bug {bug.id}: `{name}` is empty"
    if not bug.variants:
        yield "patches", f"bug {bug.id}: there is no patch"
    lines = {edit.replace.strip() for variant in bug.variants for edit in variant}
    for line in sorted(lines):
        if line and line in bug.ask:
            yield "texts", f"bug {bug.id}: `ask` gives the solution's line away: {line}"


def _equals(kata: Kata) -> Iterator[tuple[str, str]]:
    known = {bug.id for bug in kata.bugs}
    seen: Counter[str] = Counter()
    for group in kata.equal:
        if len(set(group)) < 2:
            yield "equal", f"the group {group} names fewer than two bugs"
        for bug_id in group:
            seen[bug_id] += 1
            if bug_id not in known:
                yield "equal", f"{bug_id} is declared equal, but there is no such bug"
            if seen[bug_id] == 2:
                yield "equal", f"{bug_id} stands in two groups; join them"
