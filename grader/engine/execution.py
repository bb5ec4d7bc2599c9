"""Run one case on one namespace. Judge and worker both go through `execute`.

The case is plain data, the namespace is whatever a file defines, and the
outcome is plain data again: nothing of the learner's objects leaves here.
"""

from __future__ import annotations

import ast
import random
import warnings
import zlib
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from itertools import chain
from typing import Any

import torch
from torch import Tensor, nn

from grader.engine.alignment import (
    Alignment,
    Twin,
    alignments,
    describe_missing,
    places,
    read_gradients,
    twin_of,
)
from grader.engine.dropping import dropout_off, dropped, some
from grader.engine.gathering import unregistered
from grader.engine.loading import Namespace, shorten
from grader.engine.observing import (
    Arguments,
    banned_calls,
    count_operations,
    recorded_calls,
    runs_elsewhere,
)
from grader.engine.striking import struck
from grader.engine.unwrapping import may_wrap, unwrap
from grader.model import Alien, Case, Outcome, Part, Raised
from grader.parts import make

# Taken before any answer is loaded: an answer that replaces torch's own
# functions then only fools itself.
_equal = torch.equal
# torch.manual_seed also prepares every other backend, and takes 1.5 ms for it.
_manual_seed = torch.default_generator.manual_seed
_set_default_dtype = torch.set_default_dtype

DTYPES = {
    "float64": torch.float64,
    "float32": torch.float32,
    "float16": torch.float16,
    "bfloat16": torch.bfloat16,
}


def execute(case: Case, namespace: Namespace) -> Outcome:
    """Build what the case asks for, call it once, and report what it did.

    Never raises for anything the called code does.
    """
    with _settings(case):
        try:
            return _Call(case, namespace).run()
        except MemoryError as error:
            return Outcome("memory", raised=_raised(error, namespace, case.target))
        except RuntimeError as error:
            # torch's allocator has no exception class of its own.
            text = shorten(error, 5000)
            starved = "can't allocate memory" in text or "not enough memory" in text
            return Outcome(
                "memory" if starved else "raised", raised=_raised(error, namespace, case.target)
            )
        except BaseException as error:  # noqa: BLE001 - SystemExit and the like included
            return Outcome("raised", raised=_raised(error, namespace, case.target))


class _Call:
    """One case under way: the steps of `execute`, with what they share."""

    def __init__(self, case: Case, namespace: Namespace) -> None:
        self.case = case
        self.namespace = namespace
        self.dtype = DTYPES[case.dtype]
        self.observed: dict[str, Any] = {}
        self.notes: list[str] = []
        self.given: list[nn.Module] = []
        self.lot = _lot(case)

    def run(self) -> Outcome:
        case = self.case
        if "device" in case.observe:
            self.observed["device"] = runs_elsewhere(
                lambda: self.build()[0], self.construct, self.arguments, self.earlier()
            )
            return Outcome("returned", observed=self.observed)
        if "operations" in case.observe:
            subject, _ = self.build()
            args, inputs = self.arguments()
            self.observed["operations"] = count_operations(lambda: subject(*args, **inputs))
            return Outcome("returned", observed=self.observed)
        if "banned" in case.observe:
            with banned_calls(case.banned) as called:
                subject, _ = self.build()
                args, inputs = self.arguments({})
                returned = subject(*args, **inputs)
            called |= recorded_calls(returned, case.banned)
            self.observed["banned"] = tuple(sorted(called))
            return Outcome("returned", observed=self.observed)
        subject, alignment = self.build()
        missing = alignment.missing if alignment else ()
        if "layers" in case.observe:
            return Outcome("returned", missing=missing, observed=self.observed)
        leaves: dict[str, Tensor] = {}
        # An embedding may be frozen: then nothing asks for a gradient of the inputs.
        differentiated = "gradients" in case.observe and "frozen" not in case.observe
        args, inputs = self.arguments(leaves if differentiated else None)
        kept = _copies(case, args, inputs)
        for earlier, (first, others) in zip(case.before, self.earlier(), strict=True):
            subject(*first, **others)
            if "gradients" not in case.observe:
                self.call_as_it_was(earlier, subject, alignment, args, inputs, kept)
        if case.built_after is not None:
            self.namespace.names[case.target](**_made(case.built_after)[0])
        # Gradients are comparable as far as nothing is dropped on the way.
        undropped = {"undropped", "gradients"} <= case.observe
        versions = _versions(case, args, inputs)
        with dropout_off() if undropped else nullcontext():
            returned = self.called(subject, args, inputs)
        changed = _changed(case, args, inputs, kept, versions)
        gradients: dict[str, Tensor | None] = {}
        if "gradients" in case.observe and all(type(r) is Tensor for r in returned):
            gradients = self.gradients(returned, leaves, subject, alignment)
            if undropped:
                # Once more as people train: autograd refuses what is dropped in place.
                args, inputs = self.arguments(leaves if differentiated else None)
                self.gradients(self.called(subject, args, inputs), leaves, subject, None)
        returned = self.further(subject, alignment, returned)
        return Outcome(
            "returned",
            returned=tuple(_detached(r) for r in returned),
            gradients=gradients,
            changed=changed,
            missing=missing,
            observed=self.observed,
            notes=tuple(self.notes),
        )

    def further(
        self, subject: Any, alignment: Alignment | None, returned: tuple[Tensor | Alien, ...]
    ) -> tuple[Tensor | Alien, ...]:
        """Note what else the case asks to observe of the call; return what counts as returned."""
        case, first = self.case, returned
        if "repeats" in case.observe:
            args, inputs = self.arguments()
            kept, versions = _copies(case, args, inputs), _versions(case, args, inputs)
            # In eval nothing may depend on the seed; in training everything may.
            with torch.no_grad():  # as people call what is trained
                again = self.called(subject, args, inputs, seed=0 if self.case.train else 1)
            returned = tuple(_detached(r) for r in returned)
            self.observed["again"] = tuple(_detached(r) for r in again)
            self.observed["written"] = _changed(case, args, inputs, kept, versions)
            if _all_same(returned, again):
                self.observed["shared"] = _share_memory(first, again)
        if alignment is not None and alignment.missing:
            # Layers of another form are not the same mistake as layers that are not there.
            # Vectors may be a norm's; else they are biases, and these are free.
            norms = tuple(role.name for role in case.roles if role.part == "norm")
            least = 1 if norms and any(n.startswith(norms) for n in alignment.missing) else 2
            shapes = (shape for _, shape in alignment.leftover)
            self.observed["leftover"] = tuple(sorted({s for s in shapes if len(s) >= least}))
            self.observed["random"] = self.depends_on_seed(returned)
            # Made in every call, or made once and hidden from PyTorch?
            again = returned if case.train else self.afresh(subject, seed=1)
            self.observed["anew"] = not _all_same(returned, again)
            self.observed["unseen"] = bool(list(unregistered(subject)))
        if "undropped" in case.observe:
            returned = self.undropped(subject, returned)
        if "drops" in case.observe and isinstance(returned[0], Tensor):
            self.observed["drops"] = drops = dropped(returned[0].detach())
            if some(drops):
                self.observed["fixed"] = _all_same(returned, self.afresh(subject, seed=1))
        if "struck" in case.observe:
            self.observed["struck"] = self.struck(subject, returned)
        return returned

    def construct(self) -> Any:
        """Return the callable under test: the function, or a fresh module in the right mode."""
        case = self.case
        target = self.namespace.names[case.target]
        if case.init is None:
            return target
        options, self.given = _made(case.init)
        try:
            module = target(**options)
        except Exception:
            if not case.defaults:
                raise
            module = target(**options, **case.defaults)
        if not isinstance(module, nn.Module):
            raise TypeError(f"{case.target} builds a {type(module).__name__}, not an nn.Module")
        # A fresh module trains; one that puts a layer of its own to rest is wrong to do so.
        if module.training is not case.train:
            module.train(case.train)
        return module

    def build(self) -> tuple[Any, Alignment | None]:
        """Return the callable under test, its weights written."""
        case = self.case
        key, kept = self.kept_as(), self.namespace.kept
        if kept is not None and key in kept:
            module, alignment, spots = kept[key]
            # It may have been built by a mutant that differs in its forward alone.
            module.__class__ = self.namespace.names[case.target]
            spots.write(case.weights)
            return module, alignment
        module = self.construct()
        if not isinstance(module, nn.Module) or case.init is None:
            return module, None
        if case.dtype not in ("float64", "float32"):
            # What it kept of a call before it was converted has to follow it, too.
            for first, others in self.earlier(torch.float32):
                module(*first, **others)
        # float32 is what modules are built in: nobody converts there.
        if case.dtype != "float32" and _has_other_dtype(module, self.dtype):
            module.to(self.dtype)
        if may_wrap(self.namespace.source):
            args, inputs = self.arguments()
            unwrap(module, lambda: module(*args, **inputs))
        ignore = {id(p) for part in self.given for p in part.parameters()}
        alignment = self.align(module, ignore)
        spots = places(module, alignment)
        spots.write(case.weights)
        whole = not alignment.missing and next(module.buffers(), None) is None
        if kept is not None and key is not None and whole:
            kept[key] = (module, alignment, spots)
        return module, alignment

    def kept_as(self) -> object:
        """Return what a module may be used again by, None where it may not.

        With a sublayer handed in, a module may hold state.
        """
        case = self.case
        plain = {"gradients", "raises", "undropped", "drops"}
        special = case.before or case.built_after or case.observe - plain
        if case.init is None or special or self.namespace.kept is None:
            return None
        options = tuple(sorted(case.init.items()))
        if any(isinstance(value, Part) for _, value in options):
            return None
        return (case.target, options, case.dtype, case.train)

    def align(self, module: nn.Module, ignore: set[int]) -> Alignment:
        case = self.case
        shapes = {name: tuple(value.shape) for name, value in case.weights.items()}
        heads = int((case.init or {}).get("num_heads", 1))
        twin = None if self.namespace.settled else self.twin()
        found = alignments(module, case.roles, shapes, heads, ignore, twin)
        if found[0].missing and self.namespace.settled:
            found = alignments(module, case.roles, shapes, heads, ignore, self.twin())
        alignment = found[min(case.assignment, len(found) - 1)]
        self.notes.extend(alignment.notes)
        if "layers" in case.observe:
            self.observed["layers"] = {
                "assignments": len(found),
                "absent": alignment.absent,
                "message": describe_missing(alignment, case.roles, module)
                if alignment.missing
                else "",
            }
        if "trainable" in case.observe:
            self.observed["trainable"] = _parameters(module, ignore)
        if "state" in case.observe:
            places(module, alignment).write(case.weights)
            self.observed["state"] = {
                name: value.detach().clone()
                for name, value in module.named_parameters()
                if id(value) not in ignore
            }
        return alignment

    def twin(self) -> Twin | None:
        """Return the shapes of the module at other sizes."""
        case, known = self.case, self.namespace.twins
        if not case.roles:
            return None
        init = case.init or {}
        # Layers may depend on a switch (norm_first), but not on a rate or what is handed in.
        switches = (n for n, v in sorted(init.items()) if v is True)
        key = (case.target, *switches)
        if key not in known:
            options, given = _made(init)
            ignore = {id(p) for part in given for p in part.parameters()}
            twin = twin_of(self.namespace.names[case.target], options, ignore, unwrap)
            alike = (t for t in known.values() if twin and t and t.held == twin.held)
            known[key] = next(alike, twin)
        return known[key]

    def arguments(self, leaves: dict[str, Tensor] | None = None) -> Arguments:
        """Return fresh copies of the inputs in the case's dtype.

        With `leaves`, floating inputs are computed from leaves put there: an
        input changed in place is then seen as such, not as autograd's refusal.
        """
        args = self.fresh(dict(positional(self.case)), leaves)
        return tuple(args.values()), self.fresh(self.case.inputs, leaves)

    def earlier(self, dtype: torch.dtype | None = None) -> list[Arguments]:
        """Return fresh arguments for each of the calls before the one that counts."""
        calls: list[Arguments] = []
        for call in self.case.before:
            values = self.fresh({**dict(positional(self.case)), **call}, dtype=dtype)
            first = tuple(values.pop(name) for name, _ in positional(self.case))
            calls.append((first, values))
        return calls

    def fresh(
        self,
        values: Mapping[str, Any],
        leaves: dict[str, Tensor] | None = None,
        dtype: torch.dtype | None = None,
    ) -> dict[str, Any]:
        def copied(name: str, value: Any) -> Any:
            if not isinstance(value, Tensor):
                return value
            if self.case.transposed and value.dim() > 1:
                value = value.mT.contiguous().mT
            if not value.is_floating_point():
                return value.clone()
            if leaves is None:
                return value.detach().to(dtype or self.dtype, copy=True)
            leaves[name] = value.detach().to(self.dtype, copy=True).requires_grad_()
            return leaves[name].clone()

        return {name: copied(name, value) for name, value in values.items()}

    def call_as_it_was(
        self,
        earlier: Mapping[str, Any],
        subject: Any,
        alignment: Alignment | None,
        args: Sequence[Any],
        inputs: Mapping[str, Any],
        kept: Mapping[str, Tensor],
    ) -> None:
        """Call with the very tensors of the case, but other numbers in them and in the weights.

        So it is after a step of an optimiser: what was kept by identity is out of date.
        """
        spots = places(subject, alignment) if alignment else None
        if spots:
            spots.write({name: value / 2 for name, value in self.case.weights.items()})
        tensors = _tensors(self.case, args, inputs)
        for name, value in tensors:
            other = earlier.get(name)
            if isinstance(other, Tensor) and other.shape == value.shape:
                value.copy_(other)
        subject(*args, **inputs)
        for name, value in tensors:
            value.copy_(kept[name])
        if spots:
            spots.write(self.case.weights)

    def called(
        self, subject: Any, args: Sequence[Any], inputs: Mapping[str, Any], seed: int = 0
    ) -> tuple[Tensor | Alien, ...]:
        _manual_seed(seed)
        random.seed(seed + self.lot)
        return self.chosen(subject(*args, **inputs))

    def afresh(self, subject: Any, seed: int = 0) -> tuple[Tensor | Alien, ...]:
        """Call once more, on fresh arguments."""
        args, inputs = self.arguments()
        return self.called(subject, args, inputs, seed)

    def undropped(self, subject: Any, first: tuple[Tensor | Alien, ...]) -> tuple[Any, ...]:
        """Return what comes back where nothing is dropped; note whether it is random even so."""
        # Watching every function slows a call down, so first see whether anything is dropped.
        differs = not _all_same(first, self.afresh(subject, seed=1))
        if differs:
            with dropout_off():
                first = self.afresh(subject)
                differs = not _all_same(first, self.afresh(subject, seed=1))
        self.observed["random"] = differs or bool(self.observed.get("random"))
        return first

    def struck(self, subject: nn.Module, first: tuple[Tensor | Alien, ...]) -> str:
        """Return what dropout struck that it should not have, "" where it did not or none is."""
        if _all_same(first, self.afresh(subject, seed=1)):
            return ""
        subject.eval()
        trained, rested = first[0], self.afresh(subject)[0]
        subject.train()
        if not isinstance(trained, Tensor) or not isinstance(rested, Tensor):
            return ""
        normed = any(role.part == "norm" for role in self.case.roles)
        return struck(trained.detach(), rested.detach(), normed=normed)

    def chosen(self, returned: Any) -> tuple[Tensor | Alien, ...]:
        """Pick the graded tensors out of what came back.

        Where one tensor is due, a tuple that contains it is accepted, told
        apart by shape.
        """
        due = self.case.returns
        if len(due) > 1:
            if isinstance(returned, (tuple, list)) and len(returned) == len(due):
                return tuple(_plain(item) for item in returned)
            return (_plain(returned),)
        if isinstance(returned, (tuple, list)):
            items: list[Any] = list(returned)
            shape = next(iter(due), ())
            fitting = [t for t in items if type(t) is Tensor and tuple(t.shape) == shape]
            if fitting:
                last = "" if fitting[0] is items[0] else ", and it does not come first"
                self.notes.append(f"returns a tuple; only the output tensor is asked for{last}")
                return (fitting[0],)
        return (_plain(returned),)

    def gradients(
        self,
        returned: Sequence[Tensor | Alien],
        leaves: Mapping[str, Tensor],
        subject: Any,
        alignment: Alignment | None,
    ) -> dict[str, Tensor | None]:
        """Return the gradients of a fixed weighting of the returned tensors."""
        total: Tensor | None = None
        for index, value in enumerate(returned):
            if not isinstance(value, Tensor) or not value.requires_grad:
                continue
            counted = value
            if index == 0 and self.case.compared is not None:
                if not _broadcasts(self.case.compared, value):
                    continue
                # Free positions must not reach the gradients, NaN included.
                counted = torch.where(self.case.compared, value, torch.zeros_like(value))
            part = (counted * cotangent(value)).sum()
            total = part if total is None else total + part
        present = [name for name in self.case.weights if name not in self.case.absent]
        if total is None:
            return dict.fromkeys([*leaves, *present])
        if isinstance(subject, nn.Module):
            subject.zero_grad(set_to_none=True)
        total.backward()
        gradients: dict[str, Tensor | None] = {name: t.grad for name, t in leaves.items()}
        if isinstance(subject, nn.Module) and alignment is not None:
            shapes = {name: tuple(value.shape) for name, value in self.case.weights.items()}
            read = read_gradients(subject, alignment, shapes)
            gradients |= {name: read[name] for name in present if name in read}
        return gradients

    def depends_on_seed(self, first: Sequence[Tensor | Alien]) -> bool:
        """Tell whether another seed for the layers that got no weights changes the answer."""
        _manual_seed(1)
        subject, _ = self.build()
        args, inputs = self.arguments()
        _manual_seed(2)
        return not _all_same(first, self.chosen(subject(*args, **inputs)))


def _lot(case: Case) -> int:
    """Return where Python's random numbers start: elsewhere in each case, the same every time."""
    tensors = (v for v in (*case.args, *case.inputs.values()) if isinstance(v, Tensor))
    numbers = next((value.flatten()[:8].tolist() for value in tensors), [])
    return zlib.crc32(repr(numbers).encode())


def _share_memory(first: Sequence[Tensor | Alien], again: Sequence[Tensor | Alien]) -> bool:
    """Tell whether what a caller writes into one answer shows in the other; both are alive."""

    def storages(values: Sequence[Tensor | Alien]) -> set[int]:
        tensors = (value for value in values if isinstance(value, Tensor) and value.numel())
        return {tensor.untyped_storage().data_ptr() for tensor in tensors}

    return not storages(first).isdisjoint(storages(again))


def _has_other_dtype(module: nn.Module, dtype: torch.dtype) -> bool:
    """Tell whether there is something to convert; conversion itself takes much longer."""
    held = chain(module.parameters(), module.buffers())
    return any(tensor.is_floating_point() and tensor.dtype != dtype for tensor in held)


def _made(init: Mapping[str, Any]) -> tuple[dict[str, Any], list[nn.Module]]:
    """Return a constructor's keywords with the given parts built, and these parts."""
    options = {
        name: make(value) if isinstance(value, Part) else value for name, value in init.items()
    }
    return options, [value for value in options.values() if isinstance(value, nn.Module)]


def cotangent(value: Tensor) -> Tensor:
    """Return fixed, all different weights between -1 and 1 in the shape of `value`."""
    count = torch.arange(value.numel(), dtype=torch.float64)
    return torch.cos(1.7 * count + 0.3).reshape(value.shape).to(value)


@contextmanager
def _settings(case: Case) -> Generator[None]:
    """Run under the case's default dtype and fixed seeds; put torch's own back afterwards."""
    dtype = torch.get_default_dtype()
    grad = torch.is_grad_enabled()
    # In half precision modules are built in float32 and converted, as people do.
    _set_default_dtype(torch.float64 if case.dtype == "float64" else torch.float32)
    torch.set_grad_enabled(True)
    _manual_seed(0)
    random.seed(0)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        _set_default_dtype(dtype)
        if torch.get_default_device().type != "cpu":
            torch.set_default_device("cpu")
        torch.set_grad_enabled(grad)


def _plain(value: Any) -> Tensor | Alien:
    if type(value) is Tensor:
        if value.layout != torch.strided:
            return Alien(f"{str(value.layout).removeprefix('torch.')} tensor")
        if value.device.type != "cpu":
            return Alien(f"tensor on device {value.device.type}")
        return value
    if type(value) is nn.Parameter:
        return value.view_as(value)
    return Alien(type(value).__name__)


def _detached(value: Tensor | Alien) -> Tensor | Alien:
    return value.detach().clone() if isinstance(value, Tensor) else value


def positional(case: Case) -> list[tuple[str, Any]]:
    """Return the positional arguments with names to speak of them by."""
    names = [*case.arg_names, *(f"argument {i + 1}" for i in range(len(case.args)))]
    return list(zip(names[: len(case.args)], case.args, strict=True))


def _tensors(
    case: Case, args: Sequence[Any], inputs: Mapping[str, Any]
) -> list[tuple[str, Tensor]]:
    names = [name for name, _ in positional(case)]
    named = [*zip(names, args, strict=True), *inputs.items()]
    return [(name, value) for name, value in named if isinstance(value, Tensor)]


def _copies(case: Case, args: Sequence[Any], inputs: Mapping[str, Any]) -> dict[str, Tensor]:
    return {name: value.detach().clone() for name, value in _tensors(case, args, inputs)}


def _versions(case: Case, args: Sequence[Any], inputs: Mapping[str, Any]) -> dict[str, int]:
    return {name: value._version for name, value in _tensors(case, args, inputs)}  # noqa: SLF001


def _changed(
    case: Case,
    args: Sequence[Any],
    inputs: Mapping[str, Any],
    kept: Mapping[str, Tensor],
    versions: Mapping[str, int],
) -> tuple[str, ...]:
    """Return the names of the tensors that are no longer what they were when copied.

    So are those that were written to since, even if with what they held: autograd
    refuses that, and by `.data`, which it does not see, values may change all the same.
    """
    return tuple(
        name
        for name, value in _tensors(case, args, inputs)
        if value._version != versions[name]  # noqa: SLF001
        or not _same(value.detach(), kept[name])
    )


def _same(left: Tensor, right: Tensor) -> bool:
    return (
        left.shape == right.shape
        and left.dtype == right.dtype
        and (_equal(left, right) or bool(((left == right) | (left.isnan() & right.isnan())).all()))
    )


def _all_same(left: Sequence[Tensor | Alien], right: Sequence[Tensor | Alien]) -> bool:
    return len(left) == len(right) and all(
        isinstance(a, Tensor) and isinstance(b, Tensor) and _same(a.detach(), b.detach())
        for a, b in zip(left, right, strict=True)
    )


def _broadcasts(mask: Tensor, value: Tensor) -> bool:
    """Tell whether `mask` fits `value`; torch.broadcast_shapes would import sympy, 0.3 s."""
    sizes = zip(reversed(mask.shape), reversed(value.shape), strict=False)
    return mask.dim() <= value.dim() and all(m in (1, v) for m, v in sizes)


def _parameters(module: nn.Module, ignore: set[int]) -> dict[str, bool]:
    """Return each parameter's name and whether it is trained."""
    return {
        name: value.requires_grad
        for name, value in module.named_parameters()
        if id(value) not in ignore
    }


def _raised(error: BaseException, namespace: Namespace, target: str) -> Raised:
    """Describe an error by the deepest frame in the learner's own file."""
    line, frame = None, None
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == namespace.filename:
            line, frame = trace.tb_lineno, trace.tb_frame
        trace = trace.tb_next
    lines = namespace.source.splitlines()
    return Raised(
        kinds=tuple(k.__name__ for k in type(error).__mro__ if issubclass(k, BaseException)),
        message=shorten(error),
        line=line,
        code=lines[line - 1].strip() if line and line <= len(lines) else "",
        shapes=_shapes(frame.f_locals) if frame else (),
        own=line is None
        or not isinstance(error, NotImplementedError)
        or _within(namespace, target, line),
    )


def _within(namespace: Namespace, target: str, line: int) -> bool:
    """Tell whether a line stands in the top-level definition of `target`."""
    return any(
        getattr(node, "name", None) == target and node.lineno <= line <= (node.end_lineno or line)
        for node in ast.parse(namespace.source).body
    )


def _shapes(names: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    found: list[tuple[str, str]] = []
    for name, value in names.items():
        if isinstance(value, Tensor):
            dtype = str(value.dtype).removeprefix("torch.")
            found.append((name, f"{tuple(value.shape)} {dtype}"))
    return tuple(found[:12])


def without(case: Case, absent: Sequence[str]) -> Case:
    """Return the case with the weights in `absent` set to zero, for layers without bias."""
    if not absent:
        return case
    zeroed = {name: torch.zeros_like(case.weights[name]) for name in absent if name in case.weights}
    return replace(case, weights={**case.weights, **zeroed}, absent=tuple(absent))
