"""Give raw vectors, alone or stacked, their places as gains and shifts of norms.

Norms held as raw parameters come in many forms: g1, s1, g2, s2; a list of
gains and one of shifts; both stacked in a (2, D) matrix. A number and a word
like `gamma` or `bias` is binding; where the names say nothing, every way to
use all the vectors is a choice.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, product
from math import prod

from grader.engine import naming
from grader.engine.attending import LIMIT
from grader.engine.gathering import Layers, Unit
from grader.engine.norming import is_vector
from grader.engine.placing import Choice, Need, Slot
from grader.model import Role, Shape


@dataclass(frozen=True)
class Vector:
    """A vector, or one of several stacked in a parameter of this `shape`.

    `name` is that of an entry of a list, whether it is one or a row of a stack.
    `axis` is where its elements lie, `pick` its place along the other axes;
    `size` says what it belongs to ("d_model" or "d_ff"), `kind` what it is by
    its name ("gain", "shift" or "").
    """

    name: str
    parameter: str
    shape: Shape
    size: str
    kind: str
    axis: int = 0
    pick: tuple[int, ...] = ()

    def slot(self, weight: str) -> Slot:
        """Return the slot that puts a canonical vector here."""
        others = tuple(axis for axis in range(len(self.shape)) if axis != self.axis)
        return Slot(weight, self.parameter, self.shape, (*others, self.axis), self.pick or None)


@dataclass(frozen=True)
class Place:
    """A canonical vector to find: a norm's gain or shift, or a bias of the feed-forward network."""

    weight: str
    kind: str
    size: str = "d_model"


def spread_vectors(
    layers: Layers,
    twin: Layers | None,
    linears: Sequence[Unit],
    roles: Sequence[Role],
    need: Need,
    absent: Collection[str],
) -> list[Choice]:
    """Return the ways to fill all norms' roles with the module's raw vectors, best first.

    There are none where norms are layers of their own, or where vectors would
    be left over. `absent` names the biases that no layer has; vectors with
    unclear names may be these.
    """
    norms = [role for role in roles if role.part == "norm"]
    spare = {name for name, _ in layers.spare}
    if any((unit.weights or unit.biases)[0] not in spare for unit in layers.norms if unit.weights):
        return []
    vectors = _vectors(layers, twin, linears, roles, need)
    places = [Place(f"{role.name}.weight", "gain") for role in norms]
    places += [Place(f"{role.name}.bias", "shift") for role in norms]
    places = [place for place in places if place.weight in need.shapes]
    due = frozenset(place.weight for place in places)
    if not vectors or len(vectors) < len(due):
        return []
    for role in roles:
        if role.part in ("ffn_in", "ffn_out") and f"{role.name}.bias" in absent:
            size = "d_ff" if role.part == "ffn_in" else "d_model"
            places.append(Place(f"{role.name}.bias", "bias", size))
    kinds = {vector.kind for vector in vectors}
    if kinds in ({"gain"}, {"shift"}):
        # Where all are called gains, the name tells none of them from a shift.
        vectors = [replace(vector, kind="") for vector in vectors]
    families: dict[str, list[Vector]] = {}
    for vector in vectors:
        families.setdefault(re.sub(r"\d+", "#", vector.name), []).append(vector)
    for family in families.values():
        family.sort(key=lambda vector: naming.numbers(vector.name))
    found = (
        Choice(tuple(vector.slot(weight) for weight, vector in chosen.items()))
        for chosen in _seatings(list(families.values()), places)
        if due <= chosen.keys()
    )
    return list(islice(found, LIMIT))


def spread_biases(
    layers: Layers,
    twin: Layers | None,
    roles: Sequence[Role],
    need: Need,
    placed: Collection[Slot],
) -> list[Choice]:
    """Return the ways to use raw vectors as biases that the feed-forward network lacks.

    `roles` are the network's own; `placed` is what has its place already. A
    vector counts if it is the only one of its size. That none is used is a choice, too.
    """
    taken = {name for slot in placed for name in (slot.weight, slot.parameter)}
    shapes = dict(twin.spare) if twin else {}
    told = need.twin if need.twin and twin else need
    spare = [(name, shape) for name, shape in layers.spare if name not in taken]
    slots: list[Slot] = []
    for role in roles:
        bias, length = f"{role.name}.bias", told.weight(role)[0]
        fit = [name for name, shape in spare if is_vector(shapes.get(name, shape), length)]
        if len(fit) == 1 and bias in need.shapes and bias not in taken:
            slots.append(Slot(bias, fit[0], need.shapes[bias], (0,)))
    return [Choice(tuple(slots)), Choice()] if slots else [Choice()]


def _vectors(
    layers: Layers,
    twin: Layers | None,
    linears: Sequence[Unit],
    roles: Sequence[Role],
    need: Need,
) -> list[Vector]:
    """Return every raw vector that is nobody's bias, stacks taken apart, in order of creation."""
    told = need.twin if need.twin and twin else need
    named = {"norm": "d_model", "ffn_in": "d_ff"}
    sizes = {named[r.part]: told.weight(r)[0] for r in roles if r.part in named}
    shapes = dict(twin.spare) if twin else {}
    raw = [(name, shape, shapes.get(name, shape)) for name, shape in layers.spare]
    raw += [
        (unit.weights[0], unit.shape, unit.twin.shape if unit.twin else unit.shape)
        for unit in linears
        if len(unit.weights) == 1
        and unit.layout != "torch"
        and not any(need.layouts(unit, role) for role in roles if role.part != "norm")
    ]
    most = 2 * sum(role.part == "norm" for role in roles)
    found: list[Vector] = []
    for name, shape, seen in raw:
        for size, length in sorted(sizes.items(), reverse=True):
            if length in seen and prod(seen) <= most * length:
                axis = seen.index(length)
                others = [range(n) for place, n in enumerate(shape) if place != axis]
                for pick in product(*others):
                    own = ".".join(map(str, pick)) if prod(seen) > length else ""
                    full = f"{name}.{own}" if own else name
                    kind = naming.affine_kind(full)
                    found.append(Vector(full, name, shape, size, kind, axis, pick))
                break
    return found


def _seatings(
    families: Sequence[Sequence[Vector]], places: Sequence[Place]
) -> Iterator[dict[str, Vector]]:
    """Yield every way to seat all families, as vectors by canonical weight."""
    if not families:
        yield {}
        return
    family, *others = families
    for taken in _seats(family, places):
        chosen = {place.weight: vector for place, vector in zip(taken, family, strict=True)}
        left = [place for place in places if place not in taken]
        for rest in _seatings(others, left):
            yield chosen | rest


def _seats(family: Sequence[Vector], places: Sequence[Place]) -> Iterator[tuple[Place, ...]]:
    """Yield the places that a family can take, in its order.

    Vectors that differ in their number alone are of one kind, in the order of
    the norms, or gains and shifts that follow each other.
    """
    gains = [place for place in places if place.kind == "gain"]
    shifts = [place for place in places if place.kind == "shift"]
    biases = [place for place in places if place.kind == "bias"]
    options: list[Sequence[Place]] = [gains, shifts, biases]
    if len(gains) == len(shifts):
        pairs = list(zip(gains, shifts, strict=True))
        options += [
            [place for pair in pairs for place in pair],
            [place for pair in pairs for place in reversed(pair)],
            [*gains, *shifts],
            [*shifts, *gains],
            *pairs,
            *(pair[::-1] for pair in pairs),
        ]
    if len(family) == 1:
        options += [[place] for place in places]
    for option in dict.fromkeys(tuple(option) for option in options):
        if len(option) == len(family) and all(
            vector.size == place.size and vector.kind in ("", _kind(place))
            for vector, place in zip(family, option, strict=True)
        ):
            yield option


def _kind(place: Place) -> str:
    return "gain" if place.kind == "gain" else "shift"
