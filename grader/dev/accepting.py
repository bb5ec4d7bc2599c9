"""`dev rewrites`: measure that no right answer fails.

Solutions and accepted submissions are written in other ways by steps that
Hypothesis draws, none of which changes what the kata asks for, and graded. One
that is rejected is a fault of the grader (or of a rewrite), and shown with as
few steps as possible.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from difflib import unified_diff
from functools import partial
from random import Random

from grader.catalog import Entry, find_each, katas
from grader.dev.mutating import plain
from grader.dev.pooling import REPORT_VERSION, grading
from grader.dev.reporting import console, guarded, parser
from grader.dev.rewriting import LARGEST, Rewritten, rewritten
from grader.dev.styles import SOLUTION, accepted
from grader.isolation.parent import Job
from grader.model import Verdict

TRIED, MOST_STEPS = 2000, 8
SHARE = 8
Steps = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Attempt:
    """One rewritten answer: the file it was made from, the steps, and what they led to."""

    entry: Entry
    name: str
    source: str
    steps: Steps

    @property
    def result(self) -> Rewritten:
        return rewritten(self.source, self.steps)

    def job(self) -> Job:
        return Job(
            self.entry, f"{self.entry.stem}.py", self.result.source.encode(), depth="unnamed"
        )


@dataclass
class Count:
    """How many rewritten answers were tried, and what was said of those that were rejected."""

    tried: int = 0
    kinds: Counter[str] = field(default_factory=Counter[str])
    rejected: list[str] = field(default_factory=list[str])


def rewrite(argv: Sequence[str]) -> int:
    """Grade rewritten right answers to every kata, or to those named; exit 1 if one fails."""
    options = parser("rewrites", "Grade right answers, rewritten at random; none may fail.")
    options.add_argument("katas", nargs="*", metavar="kata")
    options.add_argument("--count", type=int, default=TRIED, help=f"how many in all ({TRIED})")
    options.add_argument("--seed", type=int, default=0, help="draw others")
    options.add_argument("--json", action="store_true", help="print one JSON object")

    def run() -> int:
        asked = options.parse_args(argv)
        entries = find_each(asked.katas) or katas()
        counts: dict[str, Count] = {entry.name: Count() for entry in entries}
        with grading() as grade:

            def verdicts(attempts: Sequence[Attempt]) -> Iterator[Verdict]:
                return grade([attempt.job() for attempt in attempts])

            attempts = drawn(entries, asked.count, asked.seed)
            suspects: list[Attempt] = []
            for attempt, verdict in zip(attempts, verdicts(attempts), strict=True):
                count = counts[attempt.entry.name]
                count.tried += 1
                count.kinds.update(attempt.result.kinds)
                suspects += [attempt] * (verdict.status != "passed")
            # Only now is the pool free again. What was ended from outside passes this time.
            for attempt, verdict in zip(suspects, list(verdicts(suspects)), strict=True):
                if verdict.status != "passed":
                    told = rejection(smallest(attempt, verdicts), verdicts)
                    counts[attempt.entry.name].rejected.append(told)
                    if not asked.json:
                        console().print(told)
        if asked.json:
            sys.stdout.write(json.dumps(as_data(counts), indent=2) + "\n")
        else:
            for name, count in counts.items():
                told = f"{name}: {count.tried} tried, {len(count.rejected)} rejected"
                console().print(told)
        return 1 if any(count.rejected for count in counts.values()) else 0

    return guarded(run)


def drawn(entries: Sequence[Entry], count: int, number: int) -> list[Attempt]:
    """Draw about `count` rewritten answers, spread over all right answers to these katas."""
    sources = [(entry, name, text) for entry in entries for name, text in accepted(entry).items()]
    # Most rewrites fit the solutions best: they get a larger share.
    shares = [SHARE if name == SOLUTION else 1 for _, name, _ in sources]
    each = -(-count // max(1, sum(shares)))
    return [
        Attempt(entry, name, text, steps)
        for (entry, name, text), share in zip(sources, shares, strict=True)
        for steps in drawn_steps(each * share, number)
    ]


def drawn_steps(count: int, number: int) -> list[Steps]:
    """Draw lists of steps with Hypothesis; the same number draws the same."""
    # Not at the top: most commands of this package do without, and start faster so.
    from hypothesis import Phase, given, seed, settings
    from hypothesis import strategies as st

    found: list[Steps] = []
    # Plain random numbers: Hypothesis prefers small ones, which are always the same rewrites.
    numbers = st.randoms(use_true_random=True)

    @seed(number)
    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=(Phase.generate,),
    )
    @given(numbers, st.integers(1, MOST_STEPS))
    def draw(numbers: Random, length: int) -> None:
        step = partial(numbers.randrange, LARGEST)
        found.append(tuple((step(), step()) for _ in range(length)))

    draw()
    return found


def smallest(
    attempt: Attempt, verdicts: Callable[[Sequence[Attempt]], Iterator[Verdict]]
) -> Attempt:
    """Return the attempt with every step left out that the rejection does not need."""
    steps = list(attempt.steps)
    index = 0
    while index < len(steps):
        fewer = Attempt(
            attempt.entry, attempt.name, attempt.source, (*steps[:index], *steps[index + 1 :])
        )
        if next(verdicts([fewer])).status != "passed":
            steps = list(fewer.steps)
        else:
            index += 1
    return Attempt(attempt.entry, attempt.name, attempt.source, tuple(steps))


def rejection(attempt: Attempt, verdicts: Callable[[Sequence[Attempt]], Iterator[Verdict]]) -> str:
    """Say what was rejected, why, and how it differs from the file that passes."""
    result = attempt.result
    verdict = next(verdicts([attempt]))
    reasons = [f"{each.name}: {each.message}" for each in verdict.checks if each.status == "failed"]
    head = f"{attempt.entry.name} {attempt.name}: {' + '.join(result.kinds) or 'nothing'}"
    lines = unified_diff(
        plain(attempt.source).splitlines(), result.source.splitlines(), n=0, lineterm=""
    )
    return "\n".join([head, f"{verdict.status}: {'; '.join(reasons or verdict.notes)}", *lines])


def as_data(counts: dict[str, Count]) -> dict[str, object]:
    """Return the counts as JSON holds them."""
    return {
        "version": REPORT_VERSION,
        "katas": {
            name: {"tried": count.tried, "rejected": len(count.rejected)}
            for name, count in counts.items()
        },
        "all": {
            "tried": sum(count.tried for count in counts.values()),
            "rejected": sum(len(count.rejected) for count in counts.values()),
        },
        "kinds": dict(sum((count.kinds for count in counts.values()), Counter[str]())),
        "rejections": [told for count in counts.values() for told in count.rejected],
    }
