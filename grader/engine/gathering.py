"""What a module holds: its parameters, paired up into layers.

`snapshot` is the one place that looks at the module. It gives plain, hashable
data, so that everything built on it can be cached.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, cast

from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from grader.engine import naming
from grader.model import Shape


class Held(NamedTuple):
    """A module and its own parameters, each listed where it is first met.

    `kind`: "torch" maps with a weight (out, in), "norm" normalises, "list"
    only holds parameters.
    """

    path: str
    kind: str
    class_name: str
    own: tuple[tuple[str, Shape], ...]


@dataclass(frozen=True)
class Unit:
    """A linear map or a norm: its weight and bias, or those of every head.

    `path` names the layer; in a bundle of heads "#" stands for the head's
    number, and `weights` and `biases` have one entry per head. `shape` and
    `bias_shape` are those of one entry. `layout` says how a weight is stored:
    "torch" is (out, in) for sure, the others are guesses to try first. `twin` is
    the same unit at other sizes, see `Twin`. With `cut`, weight and bias are one
    parameter: along that axis, the bias follows the weight.
    """

    path: str
    kind: Literal["linear", "norm"]
    weights: tuple[str, ...]
    biases: tuple[str, ...]
    shape: Shape
    bias_shape: Shape
    layout: Literal["torch", "out_in", "in_out"] = "in_out"
    twin: Unit | None = None
    cut: int | None = None


@dataclass(frozen=True)
class Layers:
    """Everything a module holds.

    `loose` are biases without a weight (q_bias beside qkv), `spare` all
    parameters that are neither a matrix nor in a layer nor the bias of one.
    """

    linears: tuple[Unit, ...]
    norms: tuple[Unit, ...]
    loose: tuple[tuple[str, Shape], ...]
    spare: tuple[tuple[str, Shape], ...]


@dataclass(frozen=True, eq=False)
class Twin:
    """The same module built at sizes of which no two are equal, nor their products.

    What a shape means is read off here: (H, D, d) and (D, H, d) are the same
    shape in a case with D = H. Equal to itself alone, which is quick to tell.
    `zeros` names the vectors that are zero from the start.
    """

    held: tuple[Held, ...]
    d_model: int
    num_heads: int
    d_ff: int
    zeros: frozenset[str] = frozenset()


def snapshot(module: nn.Module, ignore: Collection[int]) -> tuple[Held, ...]:
    """Describe the module and everything in it, without the parameters in `ignore`.

    A parameter or module that is reached in two ways is listed once.
    """
    every = [
        (path, inner, _kind(inner), dict(inner.named_parameters(recurse=False)))
        for path, inner in module.named_modules()
    ]
    # An alias of a layer's weight, somewhere else, is not met before the layer.
    layers = [own.values() for _, _, kind, own in every if kind in ("torch", "norm")]
    claimed = {id(parameter) for own in layers for parameter in own}
    seen = set(ignore)
    held: list[Held] = []
    for path, inner, kind, parameters in every:
        own: list[tuple[str, Shape]] = []
        for name, parameter in parameters.items():
            known = id(parameter)
            if known not in seen and (kind in ("torch", "norm") or known not in claimed):
                seen.add(known)
                own.append((name, () if is_lazy(parameter) else parameter.shape))
        # A norm whose parameters are all ignored is not the learner's either.
        kept = "other" if kind == "norm" and parameters and not own else kind
        held.append(Held(path, kept, type(inner).__name__, tuple(own)))
    return tuple(held)


def _kind(module: nn.Module) -> str:
    if isinstance(module, (nn.Linear, nn.Conv1d)):
        return "torch"
    if isinstance(module, (nn.LayerNorm, nn.RMSNorm)):
        return "norm"
    return "list" if isinstance(module, (nn.ParameterList, nn.ParameterDict)) else "other"


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


class _Matrices:
    """Tell matrices from vectors: by the twin's shapes, else by name."""

    def __init__(self, held: Sequence[Held], twin: Twin | None) -> None:
        self.seen: dict[str, Shape] = {}
        self.are_twins = twin is not None and held is twin.held
        # More than gains and shifts of three norms in one, less than one head's projection.
        self.most = 7 * twin.d_model if twin else 0
        for item in twin.held if twin else ():
            for name, shape in item.own:
                path = _join(item.path, name)
                self.seen[path] = shape
                for mask in naming.masks(path):  # the twin may have fewer heads
                    self.seen.setdefault(mask, shape)

    def stacks(self, name: str, shape: Shape) -> bool:
        """Tell whether there are several vectors in one parameter."""
        return sum(axis != 1 for axis in self._of_twin(name) or shape) > 1

    def _of_twin(self, name: str) -> Shape:
        paths = (name, *naming.masks(name))
        return next((self.seen[path] for path in paths if path in self.seen), ())

    def __contains__(self, one: tuple[str, Shape]) -> bool:
        name, shape = one
        twin = self._of_twin(name)
        if twin and (self.are_twins or twin != shape):  # else its sizes are fixed
            return len(shape) > 1 and math.prod(twin) > self.most
        # Not by the sizes: with D = 1, a matrix has one element.
        return len(shape) > 1 and not naming.is_bias(name) and not naming.is_gain(name)


def gather(held: Sequence[Held], twin: Twin | None = None) -> Layers:
    """Pair weights and biases into units, in order of creation."""
    matrices = _Matrices(held, twin)
    linears: list[Unit] = []
    norms: list[Unit] = []
    vectors: list[tuple[str, Shape]] = []
    for item in held:
        names = [(_join(item.path, name), shape) for name, shape in item.own]
        shapes = dict(item.own)
        if item.kind == "torch" and "weight" in shapes:
            bias = (_join(item.path, "bias"),) if "bias" in shapes else ()
            linears.append(
                Unit(
                    item.path,
                    "linear",
                    (_join(item.path, "weight"),),
                    bias,
                    shapes["weight"],
                    shapes.get("bias", ()),
                    "torch",
                )
            )
        elif item.kind == "norm" or _is_hand_written_norm(item, matrices):
            norms.append(_norm(item.path, names))
        else:
            alone = sum(one in matrices for one in names) == 1
            for name, shape in names:
                if (name, shape) not in matrices:
                    vectors.append((name, shape))
                    continue
                # A hand-written Linear: the module has the name, not the parameter.
                own_linear = alone and item.path and item.kind != "list" and _plain(name)
                path = item.path if own_linear else name
                written = own_linear and item.class_name != "Conv1D" and name.endswith("weight")
                layout = "out_in" if written else "in_out"
                linears.append(Unit(path, "linear", (name,), (), shape, (), layout))
    return _pair(linears, norms, vectors)


def _plain(name: str) -> bool:
    own = name.rsplit(".", 1)[-1]
    return not naming.parts_of(own) and not naming.is_fused(own)


def _is_hand_written_norm(item: Held, matrices: _Matrices) -> bool:
    if not item.path or item.kind != "other" or not 1 <= len(item.own) <= 2:
        return False
    for name, shape in item.own:
        path = _join(item.path, name)
        # A gain and its shift may be two rows of one parameter; which is told later.
        if (path, shape) in matrices or matrices.stacks(path, shape):
            return False
    # Two gains without a bias are two norms (gamma1, gamma2), not one.
    gains = [naming.words(name) for name, _ in item.own if not naming.is_bias(name)]
    return len(gains) < 2 or not any(naming.is_gain(word[0]) for word in gains)


def _norm(path: str, names: Sequence[tuple[str, Shape]]) -> Unit:
    shapes = dict(names)
    biases = [name for name in shapes if naming.is_bias(name)]
    weights = [name for name in shapes if name not in biases]
    if len(weights) == 2:  # neither is called a bias: the second adds
        biases.append(weights.pop())
    weight, bias = tuple(weights[:1]), tuple(biases[:1])
    shape = shapes[weight[0]] if weight else ()
    return Unit(path, "norm", weight, bias, shape, shapes[bias[0]] if bias else ())


def _pair(
    linears: Sequence[Unit], norms: Sequence[Unit], vectors: Sequence[tuple[str, Shape]]
) -> Layers:
    bias_of: dict[str, tuple[str, Shape]] = {}
    loose: list[tuple[str, Shape]] = []
    raw_norms: dict[tuple[str, ...], list[tuple[str, Shape]]] = {}
    stems = {unit.weights[0]: naming.stem(unit.weights[0]) for unit in linears if not unit.biases}
    for name, shape in vectors:
        stem = naming.stem(name)
        partner = next((w for w, s in stems.items() if s == stem and w not in bias_of), None)
        gain = naming.is_gain(name)
        if partner and not gain and naming.is_bias(name):
            bias_of[partner] = (name, shape)
        elif not gain and len(naming.parts_of(name.rsplit(".", 1)[-1])) == 1:
            loose.append((name, shape))
        else:
            raw_norms.setdefault(stem, []).append((name, shape))
    # A linear layer can do without a bias, a norm cannot: b1 beside W1 and g1 is its shift.
    for stem, group in raw_norms.items():
        if len(group) == 1 and not naming.is_bias(group[0][0]):
            lent = [
                weight
                for weight, (name, shape) in bias_of.items()
                if naming.stem(name) == stem and shape == group[0][1]
            ]
            if len(lent) == 1:
                group.append(bias_of.pop(lent[0]))
    paired = tuple(
        Unit(u.path, u.kind, u.weights, (found[0],), u.shape, found[1], u.layout)
        if (found := bias_of.get(u.weights[0]))
        else u
        for u in linears
    )
    raw = [_norm(group[0][0], group) for group in raw_norms.values() if len(group) <= 2]
    taken = {name for name, _ in bias_of.values()}
    spare = tuple((name, shape) for name, shape in vectors if name not in taken)
    return Layers(paired, (*norms, *raw), tuple(loose), spare)


def unregistered(module: nn.Module) -> Iterator[str]:
    """Name what PyTorch does not see: layers and parameters outside its own registries.

    Such things sit in plain lists, tuples or dicts, or are tensors that were
    never wrapped in nn.Parameter or register_buffer.
    """
    known = {id(item) for item in (*module.modules(), *module.parameters(), *module.buffers())}
    for path, inner in module.named_modules():
        for name, value in vars(inner).items():
            if name in ("_parameters", "_buffers", "_modules") or "_hooks" in name:
                continue
            hidden = [item for item in _inside(value, 3) if id(item) not in known]
            if not hidden:
                continue
            layers = sum(isinstance(item, nn.Module) for item in hidden)
            what = f"{layers} layers" if layers > 1 else "a layer" if layers else "tensors"
            if isinstance(value, Tensor):
                yield f"`{_join(path, name)}` is a plain tensor of shape {tuple(hidden[0].shape)}"
            else:
                yield f"`{_join(path, name)}` is a plain {type(value).__name__} that holds {what}"


def _inside(value: object, depth: int) -> Iterator[Any]:
    if isinstance(value, nn.Module) or (
        isinstance(value, Tensor)
        and value.is_floating_point()
        and (value.requires_grad or value.dim() > 1)
    ):
        yield value
    elif depth and isinstance(value, Mapping):
        for item in cast("Mapping[object, object]", value).values():
            yield from _inside(item, depth - 1)
    elif depth and isinstance(value, (list, tuple, set)):
        for item in cast("Collection[object]", value):
            yield from _inside(item, depth - 1)
