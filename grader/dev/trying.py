"""Plant the bugs of a kata, write each in several styles, grade them, and hold that to be true."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from random import Random

from grader.dev.assessing import Assessed, assess, told
from grader.dev.combining import Fit, Planted, Probes, Sample, combined, singles
from grader.dev.restyling import restyled
from grader.isolation.parent import Job
from grader.model import Verdict

AS_IT_IS = "solution"
OTHERS = ("second", "third")

Grade = Callable[[Sequence[Job]], Iterator[Verdict]]


@dataclass(frozen=True)
class Trial:
    """Planted bugs in one style."""

    planted: Planted
    style: str
    kinds: tuple[str, ...]
    source: str

    def job(self, *, in_full: bool = False) -> Job:
        entry, data = self.planted.entry, self.source.encode()
        path = f"{entry.stem}.py"
        if in_full:
            return Job(entry, path, data)
        return Job(entry, path, data, examples=0, depth="diagnosed")


def drawn(probes: Probes, pairs: int | None, triples: int | None, seed: int) -> Sample:
    """Plant the bugs of one kata: each alone, then as many sets of two and three as are asked."""
    stem = probes.entry.stem
    samples = [
        singles(probes, Random(f"{seed} {stem} 1")),  # noqa: S311 - a choice of examples
        combined(probes, 2, pairs, Random(f"{seed} {stem} 2")),  # noqa: S311
        combined(probes, 3, triples, Random(f"{seed} {stem} 3")),  # noqa: S311
    ]
    return Sample(
        tuple(planted for sample in samples for planted in sample.planted),
        sum((sample.left_out for sample in samples), Counter[Fit]()),
    )


def trials(planted: Planted, seed: int) -> Iterator[Trial]:
    """Yield planted bugs as they stand in the solution, then in other styles."""
    yield Trial(planted, AS_IT_IS, (), planted.source)
    for style in OTHERS:
        # By what is planted, so that it is written the same whatever else is drawn.
        pick = Random(f"{seed} {style} {planted.source}")  # noqa: S311 - a choice of examples
        result = restyled(planted.source, pick)
        yield Trial(planted, style, result.kinds, result.source)


def assessed(
    sample: Sample,
    probes: Probes,
    grade: Grade,
    seed: int = 0,
    update: Callable[[float, str], None] = lambda _share, _words: None,
) -> Iterator[Assessed]:
    """Grade a sample in every style, and yield what was said of each."""
    every = [trial for planted in sample.planted for trial in trials(planted, seed)]
    found: list[tuple[Trial, Assessed]] = []
    verdicts = grade([trial.job() for trial in every])
    for trial, verdict in zip(every, verdicts, strict=True):
        found.append((trial, _assessed(trial, verdict, probes)))
        update(len(found) / len(every), f"{len(found)} of {len(every)} graded")
    suspects = [trial for trial, each in found if each.fault]
    update(1.0, f"{len(suspects)} graded in full")
    again = grade([trial.job(in_full=True) for trial in suspects])
    for trial, each in found:
        yield _assessed(trial, next(again), probes) if each.fault else each


def _assessed(trial: Trial, verdict: Verdict, probes: Probes) -> Assessed:
    said = assess(verdict, trial.planted, probes)
    return Assessed(trial.planted, trial.style, trial.kinds, trial.source, said, told(verdict))
