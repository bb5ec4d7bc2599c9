"""Judge one check on one recipe: a Mismatch, a note, or nothing."""

from __future__ import annotations

import re
from collections.abc import Callable

from torch import Tensor

from grader.engine.bench import Bench
from grader.engine.comparing import (
    compare_gradients,
    compare_returned,
    repeats,
    show,
    tolerance,
)
from grader.engine.dropping import fault, same_drops
from grader.engine.striking import MESSAGES
from grader.model import Alien, Case, Check, Mismatch, Outcome, Raised, Recipe

OBSERVE: dict[str, frozenset[str]] = {
    "raises": frozenset({"raises"}),
    "gradients": frozenset({"gradients"}),
    "undropped": frozenset({"undropped"}),
    "drops": frozenset({"drops"}),
    "struck": frozenset({"struck"}),
    "repeats": frozenset({"repeats"}),
    "device": frozenset({"device"}),
    "banned": frozenset({"banned"}),
    "layers": frozenset({"layers"}),
    "trainable": frozenset({"trainable"}),
    "loops": frozenset({"operations"}),
}

Finding = Mismatch | str | None
MOST_VIEWS = 3


def judge(bench: Bench, check: Check, recipe: Recipe) -> Finding:
    """Return why `check` fails on `recipe`, a note if it only just holds, else None."""
    case = bench.case(recipe, OBSERVE.get(check.watch, frozenset()))
    got = bench.got(case)
    if check.watch == "raises" and got.status != "raised":
        return _silent(bench, recipe)
    if got.status == "raised" and got.raised is not None:
        endless = got.raised.kinds[:1] == ("RecursionError",)
        # That it raises is another check's matter where this one is of how it is written.
        how = check.watch in ("loops", "banned")
        if how or (check.watch == "raises" and not endless):
            return None
        return _contiguous_only(case, got.raised) or exception(got.raised)
    return _WATCH[check.watch](bench, check, recipe)


def exception(raised: Raised) -> Mismatch:
    """Say what was raised, where, and what usually mends it."""
    kind = raised.kinds[0] if raised.kinds else "Exception"
    code = f" in `{raised.code}`" if raised.code else ""
    message = (f"{kind}: {raised.message}" if raised.message else kind) + code
    if "before Module.__init__() call" in raised.message:
        message = "super().__init__() is not called first in __init__; add it as the first line"
    elif kind == "NotImplementedError":
        message = f"still raises NotImplementedError: not written yet{code}"
    elif kind in ("SystemExit", "KeyboardInterrupt"):
        message = f"{kind} raised{code}: return the value, do not end the program"
    elif kind in ("EOFError", "BdbQuit") or "reading from stdin" in raised.message:
        message = f"waits for input{code}; remove it, there is no keyboard here"
    return Mismatch(message, "", f"{kind}", line=raised.line, shapes=raised.shapes)


def _contiguous_only(case: Case, raised: Raised) -> str | None:
    """Return a note where an answer refuses, aloud, a view that is not contiguous."""
    if case.transposed and re.search(r"view size is not compatible|contiguous", raised.message):
        code = f" in `{raised.code}`" if raised.code else ""
        return f"takes contiguous tensors only{code}; .reshape() takes any"
    return None


def _silent(bench: Bench, recipe: Recipe) -> Mismatch:
    case = bench.case(recipe)
    values = ", ".join(f"{name}={value}" for name, value in (case.init or {}).items())
    return Mismatch(f"accepts {values} in silence", "an exception", "no exception")


def _values(bench: Bench, check: Check, recipe: Recipe) -> Finding:
    case = bench.case(recipe)
    return compare_returned(case, bench.expected(case), bench.got(case))


def _gradients(bench: Bench, check: Check, recipe: Recipe) -> Finding:
    case = bench.case(recipe, OBSERVE["gradients"])
    expected = bench.expected(case)
    got = bench.got(case)
    found = compare_returned(case, expected, got)
    return found if isinstance(found, Mismatch) else compare_gradients(case, expected, got)


def _inputs_kept(bench: Bench, check: Check, recipe: Recipe) -> Finding:
    got = bench.got(bench.case(recipe))
    if not got.changed:
        return None
    names = ", ".join(got.changed)
    return Mismatch(f"changes its input {names} in place", f"{names} as it was", f"{names} changed")


def _undropped(bench: Bench, check: Check, recipe: Recipe) -> Finding:
    """Compare in train mode; what depends on the seed even so (dropout by hand) is left alone.

    Gradients are compared as well where the case observes them.
    """
    case = bench.case(recipe, OBSERVE["undropped"])
    expected, got = bench.expected(case), bench.got(case)
    if got.observed.get("random"):
        return None
    found = compare_returned(case, expected, got)
    if isinstance(found, Mismatch) or "gradients" not in case.observe:
        return found
    return compare_gradients(case, expected, got)


def _drops(bench: Bench, check: Check, recipe: Recipe) -> Finding:
    case = bench.case(recipe, OBSERVE["drops"])
    observed = bench.got(case).observed
    drops = observed.get("drops", ())
    rate = float({**(case.init or {}), **case.defaults}["dropout"])
    how = " left at its default, " if "dropout" in case.defaults else "="
    found = fault(drops, rate, f"with dropout{how}{rate}")
    if not found and observed.get("fixed"):
        found = ("every call drops the same values", "other values in each call", "the same values")
    if not found and _one_draw_for_all(bench, check, recipe):
        found = (
            "what is dropped of one sublayer is dropped of another, too",
            "a draw of its own for each sublayer",
            "one draw for all",
        )
    return Mismatch(*found) if found else None


def _one_draw_for_all(bench: Bench, check: Check, recipe: Recipe) -> bool:
    """Tell whether another sublayer, seen in a case of its own, lost the very same values."""
    if "seen" not in recipe:
        return False

    def without(one: Recipe) -> Recipe:
        return {name: value for name, value in one.items() if name != "seen"}

    def returned(one: Recipe) -> Tensor | Alien | None:
        return next(iter(bench.got(bench.case(one, OBSERVE["drops"])).returned), None)

    own = returned(recipe)
    others = [
        returned(other)
        for other in check.bank
        if other["seen"] != recipe["seen"] and without(other) == without(recipe)
    ]
    return isinstance(own, Tensor) and any(
        isinstance(other, Tensor) and same_drops(own, other) for other in others
    )


def _struck(bench: Bench, check: Check, recipe: Recipe) -> Finding:
    what = str(bench.got(bench.case(recipe, OBSERVE["struck"])).observed.get("struck") or "")
    if what not in MESSAGES:
        return None
    return Mismatch(MESSAGES[what], "the same in every call", "something else in every call")


def _repeats(bench: Bench, check: Check, recipe: Recipe) -> Finding:
    got = bench.got(bench.case(recipe, OBSERVE["repeats"]))
    if repeats(got):
        if got.observed.get("shared"):
            return "returns the same tensor in every call: what a caller writes into it, all get"
        written = " and ".join(got.observed.get("written", ()))
        if written and not got.changed:
            return Mismatch(
                f"changes its input {written} in place under torch.no_grad()",
                f"{written} as it was",
                f"{written} changed",
            )
        return None
    return Mismatch(
        "the second call with the same input, under torch.no_grad(), returns something else",
        _shown(got.returned[0] if got.returned else None),
        _shown((got.observed.get("again") or (None,))[0]),
    )


def _unchanged(bench: Bench, check: Check, recipe: Recipe) -> Finding:
    case = bench.case(recipe)
    varied = bench.case(recipe, frozenset(), check.vary)
    before, after = bench.got(case), bench.got(varied)
    if after.raised is not None:
        return exception(after.raised)
    a, b = (o.returned[0] if o.returned else None for o in (before, after))
    if not isinstance(a, Tensor) or not isinstance(b, Tensor) or a.shape != b.shape:
        return None
    if a.shape != case.returns[0]:
        return None  # a wrong shape is another check's matter
    # So is a wrong dtype, but bools cannot be subtracted.
    a, b = (t if t.is_floating_point() or t.is_complex() else t.double() for t in (a, b))
    wrong = ~((a - b).abs() <= 1e-6 + 1e-6 * a.abs()) & (a != b)
    wrong &= ~(a.isnan() & b.isnan())
    if varied.compared is not None:
        wrong &= varied.compared
    if not wrong.any():
        return None
    first = tuple(int(i) for i in wrong.nonzero()[0])
    return Mismatch(
        f"the output changes, first at {list(first)}",
        f"{show(a, first)} as before",
        show(b, first),
    )


def _sums_to_one(bench: Bench, check: Check, recipe: Recipe) -> Finding:
    case = bench.case(recipe)
    got = bench.got(case)
    last = got.returned[-1] if got.returned else None
    if not isinstance(last, Tensor) or not last.is_floating_point() or last.dim() == 0:
        return None
    if tuple(last.shape) != case.returns[-1]:
        return None
    sums = last.sum(dim=int(case.inputs.get("dim", -1)))
    allowed = tolerance(case)
    room = float(allowed.max()) if isinstance(allowed, Tensor) else allowed
    if bool(((sums - 1).abs() <= max(1e-5, room)).all()):
        return None
    return Mismatch("the weights do not sum to one", "1 everywhere", f"sums {show(sums)}")


def _device(bench: Bench, check: Check, recipe: Recipe) -> Finding:
    trouble = str(bench.got(bench.case(recipe, OBSERVE["device"])).observed.get("device") or "")
    return Mismatch(f"would not run on a GPU: {trouble}", "", trouble) if trouble else None


def _trainable(bench: Bench, check: Check, recipe: Recipe) -> Finding:
    case = bench.case(recipe, OBSERVE["trainable"])
    parameters: dict[str, bool] = bench.got(case).observed.get("trainable", {})
    trained = [name for name, value in parameters.items() if value]
    if trained:
        return Mismatch(f"{trained[0]} is a trained parameter", "no trained parameter", trained[0])
    if parameters:
        name = next(iter(parameters))
        return f"{name} is a frozen Parameter; a buffer (register_buffer) says what it is"
    return None


def _banned(bench: Bench, check: Check, recipe: Recipe) -> Finding:
    called = bench.got(bench.case(recipe, OBSERVE["banned"])).observed.get("banned", ())
    if not called:
        return None
    names = " and ".join(called)
    return Mismatch(f"calls {names}, which this exercise asks you to write", "", names)


def _layers(bench: Bench, check: Check, recipe: Recipe) -> Finding:
    observed = bench.got(bench.case(recipe, OBSERVE["layers"])).observed
    message = str(observed.get("layers", {}).get("message", ""))
    return Mismatch(message, "", "") if message else None


def _half(bench: Bench, check: Check, recipe: Recipe) -> Finding:
    return _values(bench, check, recipe)


def _loops(bench: Bench, check: Check, recipe: Recipe) -> Finding:
    """Run at sizes s, 2s and 4s: the case's recipe says by which axis it grows."""
    counts: list[int] = []
    axis = str(recipe.get("grow", "batch"))
    for factor in (1, 2, 4):
        grown = {**recipe, axis: int(recipe[axis]) * factor}
        observed = bench.got(bench.case(grown, OBSERVE["loops"])).observed
        counts.append(int(observed.get("operations", 0)))
    # Views made one by one add an operation or three for each; what is a loop adds more.
    if counts[2] - counts[1] > counts[1] - counts[0] > MOST_VIEWS:
        return Mismatch(f"{counts[0]}, {counts[1]}, {counts[2]} operations at sizes 1, 2, 4")
    return None


def _shown(value: object) -> str:
    return show(value) if isinstance(value, Tensor) else str(value)


_WATCH: dict[str, Callable[[Bench, Check, Recipe], Finding]] = {
    "values": _values,
    "gradients": _gradients,
    "inputs_kept": _inputs_kept,
    "undropped": _undropped,
    "drops": _drops,
    "struck": _struck,
    "repeats": _repeats,
    "unchanged": _unchanged,
    "sums_to_one": _sums_to_one,
    "device": _device,
    "trainable": _trainable,
    "banned": _banned,
    "layers": _layers,
    "half": _half,
    "loops": _loops,
}


def unwritten(outcome: Outcome) -> bool:
    """Tell whether a call ended in the NotImplementedError of its own stub."""
    raised = outcome.raised
    return (
        raised is not None
        and raised.kinds[:1] == ("NotImplementedError",)
        and raised.line is not None
        and raised.own
        and re.match(r"raise NotImplementedError\b", raised.code) is not None
    )
