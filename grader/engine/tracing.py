"""The trace of an outcome: enough to tell most outcomes apart without having them.

Most comparisons of a search for bugs end in a difference. What a mutant did
on a probe weighs kilobytes, its trace a dozen numbers; these can be kept for all
mutants of a kata. The search goes by traces, and what it finds is proven by running it.
"""

from __future__ import annotations

import contextlib
import hashlib
from functools import lru_cache
from typing import NamedTuple

import torch
from torch import Tensor

from grader.engine.comparing import counted, room_for_bugs, seen
from grader.model import Case, Outcome

POINTS = 6


class Trace(NamedTuple):
    """What is told of an outcome.

    `kind` is a digest of everything but numbers: status, class of exception,
    shapes, dtypes. `total` is a weighted sum of the first returned tensor, `rest`
    one of all others and of the gradients; they are good to `slack` and `rest_slack`.
    `points` are a few values of the first tensor, each good to `close`.
    `shows`: the solution does something else on this probe. `whole`: no layer is missing.
    """

    kind: int
    points: tuple[float, ...] = (0.0,) * POINTS
    close: float = 0.0
    total: float = 0.0
    slack: float = 0.0
    rest: float = 0.0
    rest_slack: float = 0.0
    shows: bool = False
    whole: bool = True

    def may_equal(self, other: Trace) -> bool:
        """Tell whether the two outcomes look like the same behaviour; false is certain."""
        return (
            self.kind == other.kind
            and abs(self.total - other.total) <= self.slack + other.slack
            and abs(self.rest - other.rest) <= self.rest_slack + other.rest_slack
            and all(
                abs(a - b) <= 2 * self.close * (1 + abs(a) + abs(b))
                for a, b in zip(self.points, other.points, strict=True)
            )
        )


def trace_of(case: Case, outcome: Outcome, *, shows: bool = False) -> Trace:
    """Return the trace of what was done on a case.

    What `same_behaviour` does not look at must not stand in a trace either.
    """
    kind, weighed = _kind(case, outcome)
    trace = Trace(digest(kind), shows=shows, whole=not outcome.missing)
    if not weighed:
        return trace
    close = room_for_bugs(case)
    tensors = [value for value in outcome.returned if isinstance(value, Tensor)]
    total, slack, points = 0.0, 0.0, trace.points
    if tensors:
        first = _flat(tensors[0], counted(case, 0, tensors[0]))
        total, slack = _weighed(first, close)
        points = tuple(float(first[place]) for place in _places(len(first))) or points
    # Numbers, NaN or not, at queries that see no key stand in no trace.
    rest_of = [
        value if (mask := counted(case, place, value)) is None else value.where(mask, 0)
        for place, value in enumerate(tensors[1:], start=1)
    ]
    others = [(value, close) for value in rest_of]
    # How NaN spreads backwards depends on how a mask was written, not on the bug.
    if not any(bool(value.isnan().any()) for value in tensors):
        gradients = (value for _, value in sorted(outcome.gradients.items()) if value is not None)
        others += [(value, 10 * close) for value in gradients]
    sums = [_weighed(_flat(value), room) for value, room in others]
    rest, rest_slack = (sum(column) for column in zip((0.0, 0.0), *sums, strict=True))
    return trace._replace(
        points=points, close=close, total=total, slack=slack, rest=rest, rest_slack=rest_slack
    )


def _kind(case: Case, outcome: Outcome) -> tuple[tuple[object, ...], bool]:
    """Return everything but the numbers, and whether the numbers count too."""
    if "raises" in case.observe and outcome.status == "raised":
        return ("raised",), False
    common = (outcome.status, tuple(sorted(set(outcome.missing))))
    if outcome.raised is not None:
        return (*common, outcome.raised.kinds[:1]), False
    kind = (*common, outcome.changed, *seen(case, outcome))
    if case.observe & {"drops", "struck"}:
        return kind, False
    random = bool(outcome.observed.get("random"))
    shapes = [
        (tuple(value.shape), None if random else str(value.dtype))
        if isinstance(value, Tensor)
        else value
        for value in outcome.returned
    ]
    return (*kind, random, *shapes), not random


def _flat(value: Tensor, compared: Tensor | None = None) -> Tensor:
    """Return all numbers in a row, 0 for those that are not finite or do not count."""
    flat = value.detach().double().nan_to_num(0.0, 0.0, 0.0)
    if compared is not None:
        with contextlib.suppress(RuntimeError):  # then it is not compared by position either
            flat = flat * compared.expand_as(flat)
    return flat.flatten()


def _weighed(flat: Tensor, close: float) -> tuple[float, float]:
    """Return a sum over all numbers, and how far equal behaviour may move it."""
    if not len(flat):
        return 0.0, 0.0
    largest = float(flat.abs().max())
    return float(flat @ _weights(len(flat))), len(flat) * close * (1 + largest)


@lru_cache(maxsize=256)
def _weights(count: int) -> Tensor:
    """Return fixed numbers between -1 and 1, in no order that a bug could follow."""
    generator = torch.Generator().manual_seed(count)
    return torch.rand(count, generator=generator, dtype=torch.float64) * 2 - 1


def _places(count: int) -> list[int]:
    """Return where to look: in the last row, the first, and between."""
    return [(count - 1) * (POINTS - k) // POINTS for k in range(POINTS if count else 0)]


def digest(value: object) -> int:
    """Return 64 bits that stand for plain data, the same in every process."""
    data = hashlib.blake2b(repr(value).encode(), digest_size=8).digest()
    return int.from_bytes(data, "little", signed=True)
