"""Compare what a call did with what it should have done, and say the difference in words."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cached_property

import torch
from torch import Tensor

from grader.engine.dropping import alike
from grader.model import Alien, Case, Mismatch, Outcome

_isclose = torch.isclose

# Agreement to about this much, where 1e-9 is due, is float32 arithmetic
# inside a float64 call. The smallest bugs measured lie above it.
DRIFT = 1e-5
INEXACT = "right to about 1e-5 only"
# Where allowed variants of the solution differ by more than this, the case
# says nothing about the answer.
TOO_WIDE = 1e-2
FLOAT32 = 1e-3
HALF = 5e-2


Spread = Mapping["str | int", float]


class Expected:
    """The solution's outcome, and how far its allowed variants stray from it.

    `spread` holds the largest difference for each returned tensor, and under
    its name for each gradient. It is measured when first asked for: an answer
    that agrees without it agrees with it.
    """

    def __init__(self, outcome: Outcome, measure: Callable[[], Spread]) -> None:
        self.outcome = outcome
        self._measure = measure

    @cached_property
    def spread(self) -> Spread:
        return self._measure()

    @property
    def measured(self) -> Spread | None:
        """Return the spread if it was asked for so far."""
        return self.__dict__.get("spread")

    @property
    def inconclusive(self) -> bool:
        """Whether the case says nothing: allowed variants of the solution differ too much on it."""
        return any(value > TOO_WIDE for value in self.spread.values())


def tolerance(case: Case) -> float | Tensor:
    """Return the absolute and relative tolerance that the case's dtype and contract allow."""
    floor = {"float64": 0.0, "float32": FLOAT32, "float16": HALF, "bfloat16": HALF}[case.dtype]
    if isinstance(case.tolerance, Tensor):
        # An entry of 0 asks for the exact value, in whatever dtype.
        return torch.where(case.tolerance > 0, case.tolerance.clamp(min=floor), 0.0)
    return max(case.tolerance, floor)


def compare_returned(case: Case, expected: Expected, got: Outcome) -> Mismatch | str | None:
    """Return the first difference between the returned tensors, None where there is none.

    A string instead of a Mismatch is a note: right but for float32 rounding.
    Type, shape and dtype are compared strictly before values, never broadcast.
    """
    note: str | None = None
    due = expected.outcome.returned
    for index, want in enumerate(due):
        if not isinstance(want, Tensor):
            continue
        have = got.returned[index] if index < len(got.returned) else None
        if not isinstance(have, Tensor) or len(got.returned) != len(due):
            return _wrong_kind(case, got)
        found = _compare_one(case, want, have, 0.0, index)
        if isinstance(found, Mismatch):
            if expected.inconclusive:
                return None
            found = _compare_one(case, want, have, expected.spread.get(index, 0.0), index)
        if isinstance(found, Mismatch):
            return found
        note = note or found
    return note


def _wrong_kind(case: Case, got: Outcome) -> Mismatch:
    kinds = [value.type if isinstance(value, Alien) else "Tensor" for value in got.returned]
    due = "a tensor" if len(case.returns) == 1 else f"a tuple of {len(case.returns)} tensors"
    if kinds == ["NoneType"]:
        return Mismatch(f"returns None, expected {due}; is a return missing?", due, "None")
    what = kinds[0] if len(kinds) == 1 else f"{len(kinds)} values"
    return Mismatch(f"returns {what}, expected {due}", due, what)


def _compare_one(
    case: Case, want: Tensor, have: Tensor, spread: float, index: int
) -> Mismatch | str | None:
    which = "" if len(case.returns) == 1 else f" of returned value {index + 1}"
    if have.shape != want.shape:
        return Mismatch(
            f"shape{which} is {tuple(have.shape)}, expected {tuple(want.shape)}",
            f"shape {tuple(want.shape)}",
            f"shape {tuple(have.shape)}",
        )
    if have.dtype != want.dtype:
        got, due = (str(t.dtype).removeprefix("torch.") for t in (have, want))
        return Mismatch(f"dtype{which} is {got}, expected {due}", f"dtype {due}", f"dtype {got}")
    allowed = tolerance(case)
    mask = counted(case, index, have)
    mask = _but_nan(have, mask) if case.nan_is_free else mask
    wrong = _differing(want, have, allowed, 3 * spread, mask)
    if not wrong.any():
        return _endless(case, want, have) if mask is not None else None
    drift = torch.where(allowed > 0, DRIFT, 0.0) if isinstance(allowed, Tensor) else DRIFT
    if case.dtype == "float64" and not _differing(want, have, drift, 3 * spread, mask).any():
        return (
            f"{INEXACT}, though the input is float64: it drops to float32 "
            "somewhere, or adds a small constant"
        )
    return _difference(want, have, wrong, which)


def _but_nan(have: Tensor, mask: Tensor | None) -> Tensor:
    return ~have.isnan() if mask is None else mask & ~have.isnan()


def _endless(case: Case, want: Tensor, have: Tensor) -> Mismatch | None:
    """Return a mismatch where padded positions, whose values are free, are not finite."""
    if case.nan_is_free:
        return None
    bad = ~have.isfinite() & want.isfinite()
    bad = bad & ~case.blind if case.blind is not None and _by_queries(case, have) else bad
    if not bool(bad.any()):
        return None
    first = tuple(int(i) for i in bad.nonzero()[0])
    return Mismatch(
        f"{int(bad.sum())} values at padded positions are NaN or inf, first at {list(first)}; "
        "they are free, but must be finite",
        "finite values",
        show(have, first),
    )


def _differing(
    want: Tensor, have: Tensor, allowed: float | Tensor, spread: float, mask: Tensor | None
) -> Tensor:
    if want.dtype == torch.bool or not want.is_floating_point():
        wrong = want != have
    else:
        room = (want.abs() * allowed + allowed + spread).to(want.dtype)
        # Equal infinities count as equal, and so do two NaNs; beside inf, everything is near.
        near = ((have - want).abs() <= room) & want.isfinite()
        wrong = ~near & (have != want) & ~(want.isnan() & have.isnan())
    if mask is not None:
        wrong = wrong & mask
    return wrong


def _difference(want: Tensor, have: Tensor, wrong: Tensor, which: str) -> Mismatch:
    first = tuple(int(i) for i in wrong.nonzero()[0])
    count, total = int(wrong.sum()), wrong.numel()
    bad = have.isnan() | have.isinf()
    place = f"at {list(first)}" if first else ""
    if bool((bad & wrong).any()):
        where = list((bad & wrong).nonzero()[0].tolist())
        kind = "NaN" if bool(have[tuple(where)].isnan()) else "inf"
        bad_count = int((bad & wrong).sum())
        message = f"{bad_count} of {total} values{which} are {kind}, first at {where}"
    elif total == 1:
        message = f"the value{which} differs"
    else:
        message = f"{count} of {total} values{which} differ, first {place}"
    expected, got = show(want, first), show(have, first)
    if expected == got:  # four digits do not tell them apart
        message += f": {have[first].item():.12g} instead of {want[first].item():.12g}"
    return Mismatch(message, expected, got)


def show(value: Tensor, focus: tuple[int, ...] = (), limit: int = 24) -> str:
    """Write a tensor as nested lists of four digits; of a large one, the row at `focus`."""
    if value.numel() <= limit:
        return _digits(value.tolist())
    lead = focus[:-1] if focus else (0,) * (value.dim() - 1)
    row = value[lead].tolist()
    tail = ", …" if len(row) > limit else ""
    return f"{_digits(row[:limit])[:-1]}{tail}] at {list(lead)}" if lead else _digits(row[:limit])


def _digits(value: object) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(_digits(item) for item in value) + "]"
    if isinstance(value, float):
        text = f"{value:.4f}".rstrip("0").rstrip(".") if abs(value) < 1e5 else f"{value:.4g}"
        return "0" if text in ("-0", "") else text
    return str(int(value)) if isinstance(value, bool) else str(value)


def compare_gradients(case: Case, expected: Expected, got: Outcome) -> Mismatch | None:
    """Return the first gradient that differs; a missing one counts as zero."""
    for name, want in expected.outcome.gradients.items():
        have = got.gradients.get(name)
        target = want if want is not None else have
        if target is None:
            continue
        left = want if want is not None else torch.zeros_like(target)
        right = have if have is not None else torch.zeros_like(target)
        if left.shape != right.shape:
            continue  # the shape of the weight itself is another check's matter
        scale = float(left.abs().max()) if left.numel() else 0.0
        allowed = max(DRIFT, _largest(tolerance(case))) * (1 + scale)
        wrong = _differing(left, right, 0.0, allowed, None)
        if wrong.any() and expected.inconclusive:
            return None
        if wrong.any():
            wrong = _differing(left, right, 0.0, allowed + 3 * expected.spread.get(name, 0.0), None)
        if wrong.any():
            first = tuple(int(i) for i in wrong.nonzero()[0])
            what = "no gradient reaches" if have is None else "the gradient is wrong for"
            return Mismatch(f"{what} {name}", show(left, first), show(right, first))
    return None


def _largest(value: float | Tensor) -> float:
    return float(value.max()) if isinstance(value, Tensor) else value


def spread_between(
    expected: Outcome, variant: Outcome, mask: Tensor | None
) -> dict[str | int, float]:
    """Measure how far an allowed variant of the solution is from it."""
    found: dict[str | int, float] = {}
    for index, (a, b) in enumerate(zip(expected.returned, variant.returned, strict=False)):
        if isinstance(a, Tensor) and isinstance(b, Tensor) and a.shape == b.shape:
            distance = (a - b).abs() if a.is_floating_point() else (a != b).double()
            if mask is not None and index == 0:
                distance = torch.where(mask, distance, torch.zeros_like(distance))
            found[index] = float(distance.nan_to_num(0.0).max()) if distance.numel() else 0.0
    for name, a in expected.gradients.items():
        b = variant.gradients.get(name)
        if a is not None and b is not None and a.shape == b.shape:
            found[name] = float((a - b).abs().nan_to_num(0.0).max()) if a.numel() else 0.0
    return found


def same_behaviour(case: Case, left: Outcome, right: Outcome) -> bool:
    """Tell whether two outcomes are the same, as far as a bug is recognised by them.

    Exceptions match by their class, and where any exception is right, by
    there being one; layers without weights by which are
    missing; everything else by value, NaN patterns included.
    """
    if "raises" in case.observe and "raised" in (left.status, right.status):
        return left.status == right.status
    if left.status != right.status or set(left.missing) != set(right.missing):
        return False
    if left.raised is not None and right.raised is not None:
        return left.raised.kinds[:1] == right.raised.kinds[:1]
    if left.changed != right.changed or seen(case, left) != seen(case, right):
        return False
    if "struck" in case.observe:
        return True  # as seen; what comes back is as random as what was dropped
    if "drops" in case.observe:
        return alike(left.observed.get("drops", ()), right.observed.get("drops", ()))
    return _same_results(case, left, right)


def _same_results(case: Case, left: Outcome, right: Outcome) -> bool:
    """Tell whether what was returned, and its gradients, are the same."""
    if left.observed.get("random") or right.observed.get("random"):
        return left.observed.get("random") == right.observed.get("random") and [
            tuple(t.shape) if isinstance(t, Tensor) else t for t in left.returned
        ] == [tuple(t.shape) if isinstance(t, Tensor) else t for t in right.returned]
    if len(left.returned) != len(right.returned):
        return False
    close = room_for_bugs(case)
    for index, (a, b) in enumerate(zip(left.returned, right.returned, strict=True)):
        mask = case.compared if index == 0 else None
        if not _same_value(_sighted(case, a), _sighted(case, b), close, mask):
            return False
    if any(isinstance(value, Tensor) and bool(value.isnan().any()) for value in left.returned):
        # How NaN spreads backwards depends on how a mask was written, not on the bug.
        return True
    return all(
        _same_gradient(value, right.gradients.get(name), close)
        for name, value in left.gradients.items()
    )


def counted(case: Case, index: int, value: Tensor) -> Tensor | None:
    """Return where a returned tensor is compared, None for everywhere."""
    mask = case.compared if index == 0 else None
    if not _by_queries(case, value):
        return mask
    return ~case.blind if mask is None else mask & ~case.blind  # type: ignore[operator]


def _sighted(case: Case, value: Tensor | Alien) -> Tensor | Alien:
    """Return the value with zeros for the queries that see no key, where it is laid out by them."""
    if isinstance(value, Tensor) and _by_queries(case, value):
        return value.masked_fill(case.blind, 0)  # type: ignore[arg-type]
    return value


def _by_queries(case: Case, value: Tensor) -> bool:
    return case.blind is not None and value.shape[:-1] == case.blind.shape[:-1]


def room_for_bugs(case: Case) -> float:
    """Return how far, absolute and relative, two values of the same bug may be apart."""
    return max(2 * DRIFT, 5 * _largest(tolerance(case)))


def same_message(left: Outcome, right: Outcome) -> bool:
    """Tell whether two outcomes that raise say the same, sizes included."""
    a, b = (" ".join(o.raised.message.split()) if o.raised else None for o in (left, right))
    return a == b


def akin_messages(left: Outcome, right: Outcome) -> bool:
    """Tell whether two outcomes that raise complain of much the same: half of the words agree."""
    a, b = (
        set(re.findall(r"[a-z_]{3,}", o.raised.message.lower())) if o.raised else set[str]()
        for o in (left, right)
    )
    return a == b or 2 * len(a & b) >= len(a | b)


def _same_value(a: Tensor | Alien, b: Tensor | Alien, close: float, mask: Tensor | None) -> bool:
    if isinstance(a, Alien) or isinstance(b, Alien):
        return isinstance(a, Alien) and isinstance(b, Alien) and a == b
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if mask is not None:
        try:
            mask = mask.expand_as(a)
        except RuntimeError:
            mask = None
        else:
            # Values at free positions do not count, but whether they are finite does.
            if _finite_where_free(a, mask) != _finite_where_free(b, mask):
                return False
    return not bool(_differing(a, b, close, 0.0, mask).any())


def _finite_where_free(value: Tensor, mask: Tensor) -> bool:
    return bool((value.isfinite() | mask).all())


def _same_gradient(a: Tensor | None, b: Tensor | None, close: float) -> bool:
    if a is None and b is None:
        return True
    a = torch.zeros_like(b) if a is None and b is not None else a
    b = torch.zeros_like(a) if b is None and a is not None else b
    if a is None or b is None or a.shape != b.shape:
        return a is b
    scale = float(a.nan_to_num(0.0).abs().max()) if a.numel() else 0.0
    return not _differing(a, b, 0.0, close * 10 * (1 + scale), None).any()


def seen(case: Case, outcome: Outcome) -> tuple[object, ...]:
    """Return what was observed, without the learner's own names and messages."""
    observed = outcome.observed
    found: list[object] = [
        (key, observed.get(key))
        for key in ("banned", "operations", "struck")
        if key in case.observe
    ]
    if "device" in case.observe:
        found.append(("device", bool(observed.get("device"))))
    if "trainable" in case.observe:
        found.append(("trainable", sum(observed.get("trainable", {}).values())))
    if outcome.missing:
        found.extend((key, observed.get(key)) for key in ("leftover", "anew", "unseen"))
    if observed.get("fixed"):
        found.append("fixed")
    if "again" in observed:
        found.append(("repeats", repeats(outcome)))
        found.append(("written", bool(observed.get("written"))))
    return tuple(found)


def repeats(outcome: Outcome) -> bool:
    """Tell whether the second call on the same instance returned the same."""
    again = outcome.observed.get("again", outcome.returned)
    return len(again) == len(outcome.returned) and all(
        _same_value(a, b, 1e-9, None) for a, b in zip(outcome.returned, again, strict=True)
    )
