"""How one parameter can store a weight, and the slots that follow from that.

A layout is an order of named axes. Axes: f parts of a fused layer, h heads, d
features of a head, i input features, o output features. "hdi" is the usual
(D, D) projection, "fhdi" a fused (3D, D) one, "ihd" a raw matrix for `x @ W`.

Sizes may coincide (one head, D = F), and then a shape fits more layouts than
it does elsewhere. So layouts are read off the unit's twin, which has sizes that
do not coincide: the n-th guess means the same at every size.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from math import prod

from grader.engine import naming
from grader.engine.gathering import Unit
from grader.model import Role, Shape

Shapes = Mapping[str, Shape]
Sizes = Mapping[str, int]

# Rows of a fused layer, the most usual order first.
_ROWS = ("fhd", "hfd", "hdf", "fdh", "dfh", "dhf")
# Raw parameters with three or more axes: einsum makes all orders handy, these most.
_DEEP = {
    "hdi": ("hid", "ihd", "hdi"),
    "ohd": ("hdo", "ohd", "hod"),
    "di": ("id", "di"),
    "od": ("do", "od"),
    "oi": ("io", "oi"),
}
_DEEP_FUSED = ("fihd", "fhdi", "fhid", "hfid", "ifhd", "ihfd", "hifd")


@dataclass(frozen=True)
class Slot:
    """Where one canonical weight, or a block of it, lives in the learner's module.

    The parameter is viewed in the shape `split`, its axes are put in `order`,
    and of the first axis (or axes) only entry `pick` is meant, if given. What remains
    has the elements of the canonical weight in the same order; of the weight
    only the `block` (axis, start, length), if given.
    """

    weight: str
    parameter: str
    split: Shape
    order: tuple[int, ...]
    pick: int | tuple[int, ...] | None = None
    block: tuple[int, int, int] | None = None
    plus: int = 0
    cut: tuple[int, int, int] | None = None


@dataclass(frozen=True)
class Placement:
    """A unit in a role: stored as `axes`, and entry `pick` of `count` fused parts.

    Placements of equal `style` come from the same place in their lists.
    """

    role: Role
    unit: Unit
    axes: str
    count: int = 1
    pick: int = 0
    style: str = ""
    note: str = ""


@dataclass(frozen=True)
class Choice:
    """The roles of one group as settled, in the form of an alignment's parts.

    Choices of equal `label` were made alike (the same row order, say).
    """

    slots: tuple[Slot, ...] = ()
    missing: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    zeroed: tuple[str, ...] = ()
    label: tuple[str, ...] = ()


@dataclass(frozen=True)
class Need:
    """What the contract asks for: shapes by canonical name, and the number of heads.

    `twin` is the same at the sizes of the units' twins.
    """

    shapes: Shapes
    num_heads: int
    twin: Need | None = None

    def weight(self, role: Role) -> Shape:
        """Return the (out, in) of a linear role, the (D,) of a norm."""
        return tuple(self.shapes[f"{role.name}.weight"])

    def sizes(self, role: Role, count: int = 1) -> Sizes:
        """Return the size of each axis. Where heads do not divide D, there is one head."""
        out, inner = self.weight(role)
        axes = _axes(role.part, count)
        if axes == "oi":
            return {"o": out, "i": inner}
        split = inner if axes == "ohd" else out
        heads = self.num_heads if split % self.num_heads == 0 else 1
        sizes = {"h": heads, "d": split // heads}
        return sizes | ({"o": out} if axes == "ohd" else {"f": count, "i": inner})

    def count(self, unit: Unit, role: Role) -> int:
        """Return how many (D, D) projections the unit has the size of, 0 if not a whole number."""
        if self.twin and unit.twin:
            return self.twin.count(unit.twin, role)
        count, rest = divmod(len(unit.weights) * prod(unit.shape), self.weight(role)[1] ** 2)
        return 0 if rest else count

    def reads_twin(self, unit: Unit, roles: Iterable[Role]) -> bool:
        """Tell whether the unit's twin has the shape of any role, or of several in one."""
        if self.twin is None or unit.twin is None:
            return False
        return any(
            self.twin.layouts(unit.twin, role, count)
            for role in roles
            if role.part != "norm"
            for count in ((1,) if role.part in ("ffn_in", "ffn_out") else (1, 2, 3, 4))
        )

    def layouts(self, unit: Unit, role: Role, count: int = 1) -> tuple[str, ...]:
        """Return the layouts to try for the unit's weight, or none if its shape is wrong."""
        sizes = self.sizes(role, count)
        if self.twin and unit.twin:
            read = self.twin.layouts(unit.twin, role, count)
            return read if all(fits(unit.shape, layout, sizes) for layout in read) else ()
        wanted = [w for w in _candidates(unit, role.part, count) if fits(unit.shape, w, sizes)]
        # Features of heads in turn are another order only where other axes make it visible.
        wanted = [w for w in wanted if count > 1 or w.replace("dh", "hd") not in {*wanted} - {w}]
        # Axes of size 1 can stand anywhere.
        told: dict[str, str] = {}
        for layout in wanted:
            told.setdefault("".join(axis for axis in layout if sizes[axis] != 1), layout)
        return tuple(told.values())

    def bias_layout(
        self, shape: Shape, twin: Shape | None, weight: str, role: Role, count: int
    ) -> str | None:
        """Return the order of axes of a bias beside a weight stored as `weight`."""
        sizes = self.sizes(role, count)
        if self.twin and twin not in (None, shape):
            found = self.twin.bias_layout(twin, None, weight, role, count)
            return found if found and fits(shape, found, sizes) else None
        own = "o" if "o" in weight else weight.replace("i", "")
        orders = (own, *("".join(order) for order in permutations(own)))
        return next((order for order in orders if fits(shape, order, sizes)), None)


def _axes(part: str, count: int) -> str:
    """Return the order of the axes in the solution's own weight."""
    if part in ("ffn_in", "ffn_out"):
        return "oi"
    return "ohd" if part == "output" and count == 1 else "hdi"


def fits(shape: Shape, axes: str, sizes: Sizes) -> bool:
    """Tell whether the shape is these axes in this order, neighbours perhaps merged."""
    left = [sizes[axis] for axis in axes if sizes[axis] != 1]
    for size in shape:
        merged = 1
        while merged < size and left:
            merged *= left.pop(0)
        if merged != size:
            return False
    return not left and len(shape) > 0


def _candidates(unit: Unit, part: str, count: int) -> list[str]:
    bundled = len(unit.weights) > 1  # each entry is one head, and has no axis h
    drop = "h" if bundled else ""
    axes = _axes(part, count).replace(drop, "")
    if count > 1:
        rows = [row.replace(drop, "") for row in _ROWS]
        if unit.layout == "torch":
            return [f"{row}i" for row in rows]
        if len(unit.shape) < 3:
            return [f"i{row}" for row in rows] + [f"{row}i" for row in rows]
        deep = (*_DEEP_FUSED, *("".join(order) for order in permutations("fhdi")))
        return [layout.replace(drop, "") for layout in deep]
    if unit.layout == "torch":
        return [axes]
    if len(unit.shape) > 2:
        return [*_DEEP[axes], *("".join(order) for order in permutations(axes))]
    inward = axes[1:] + "o" if axes[0] == "o" else "i" + axes[:-1]
    return [axes, inward] if unit.layout == "out_in" else [inward, axes]


def options(unit: Unit, role: Role, need: Need) -> list[Placement]:
    """Return the ways to put a unit in a role: one per layout, none if it does not fit."""
    found = need.layouts(unit, role)
    guessed = unit.layout != "torch"
    return [
        Placement(role, unit, axes, style=str(index) if guessed else "")
        for index, axes in enumerate(found)
    ]


def settle(
    placements: Sequence[Placement],
    roles: Sequence[Role],
    need: Need,
    loose: Mapping[str, tuple[str, Shape, Shape | None]] | None = None,
    reasons: Sequence[str] = (),
    silent: Iterable[Unit] = (),
) -> Choice:
    """Turn placements into slots.

    `loose` has biases by part, for weights without one, with their twins' shapes.
    `silent` are the units whose names say nothing, which is noted.
    """
    by_role = {placement.role: placement for placement in placements}
    unnamed = set(silent)
    slots: list[Slot] = []
    absent: list[str] = []
    zeroed: list[str] = []
    notes: list[str] = []
    for role in roles:
        if role not in by_role:
            continue
        placement = by_role[role]
        unit, bias = placement.unit, f"{role.name}.bias"
        sizes = need.sizes(role, placement.count)
        slots.extend(_slots(f"{role.name}.weight", unit.weights, placement.axes, sizes, placement))
        names, shape = unit.biases, unit.bias_shape
        twin = unit.twin.bias_shape if unit.twin else None
        if not names and loose and role.part in loose:
            name, shape, twin = loose[role.part]
            names = (name,)
        axes = placement.axes if unit.biases else placement.axes.replace("f", "")
        count = placement.count
        own = need.bias_layout(shape, twin, axes, role, count) if names else None
        if own and bias in need.shapes:
            # Heads whose outputs are summed have one bias too many each.
            summed = "o" in own and len(names) > 1
            slots.extend(_slots(bias, names[:1] if summed else names, own, sizes, placement))
            zeroed.extend(names[1:] if summed else ())
        elif bias in need.shapes:
            absent.append(bias)
        else:
            zeroed.extend(names)
        if unit in unnamed:
            whose = f"{role.owner}-attention's " if role.owner and "ffn" not in role.part else ""
            label = naming.LABELS[role.part]
            path = unit.path.replace("#", "*")  # "heads.*.0"
            what = f"`{path}`" if path else "the module itself"
            notes.append(f"{what} was taken for the {whose}{label}, since its name does not say")
        if placement.note and placement.pick == 0:
            notes.append(placement.note)
    missing = tuple(role.name for role in roles if role not in by_role)
    label = tuple(sorted({p.style for p in placements if p.style}))
    return Choice(
        tuple(slots), missing, tuple(absent), tuple(notes), tuple(reasons), tuple(zeroed), label
    )


def _slots(
    weight: str, names: Sequence[str], axes: str, sizes: Sizes, placement: Placement
) -> Iterator[Slot]:
    due = _axes(placement.role.part, placement.count)
    cut = placement.unit.cut
    stretch: tuple[int, int, int] | None = None
    if cut is not None:
        length = placement.unit.shape[cut]
        stretch = (cut, length, 1) if weight.endswith(".bias") else (cut, 0, length)
    fused = "f" if "f" in axes else ""
    order = tuple(axes.index(axis) for axis in fused + due if axis in axes)
    split = tuple(sizes[axis] for axis in axes)
    pick = placement.pick if fused else None
    for head, name in enumerate(names):
        block = None
        if len(names) > 1:  # one of several heads: its rows, or its columns behind "o"
            block = (int(due[0] == "o"), head * sizes["d"], sizes["d"])
        yield Slot(weight, name, split, order, pick, block, cut=stretch)


def refusal(unit: Unit, role: Role, need: Need) -> str:
    """Say why a unit with a role's name does not get the role."""
    each = " in each head" if len(unit.weights) > 1 else ""
    return (
        f"`{unit.path}` is named like the {naming.LABELS[role.part]} ({role.name}), but its weight"
        f" has shape {tuple(unit.shape)}{each} where {need.weight(role)} is due"
    )
