"""Join the layers of single heads, and find the same layers at other sizes."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import replace

from grader.engine import naming
from grader.engine.gathering import Unit


def bundle(
    units: Sequence[Unit], num_heads: int, d_model: int, told: Collection[str] | None = None
) -> tuple[Unit, ...]:
    """Join the layers of single heads ("heads.0.q", "heads.1.q", …) into one unit.

    A family has one unit per head, equal but for one number in the path, and
    each maps D features to d (or to a head's share of a fused layer). `told`
    has the paths of the families that are known to be heads; without it, names
    must tell heads from a list of q, k and v.
    """
    if num_heads == 1:
        return tuple(units)
    joined: dict[str, Unit] = {}  # path of each member -> the whole
    for mask, family in _families(units).items():
        if (
            len(family) != num_heads
            or not _alike(family, d_model)
            or any(unit.path in joined for unit in family)
            or not (mask in told if told is not None else _heads_by_name(mask, family, d_model))
        ):
            continue
        weights = tuple(name for unit in family for name in unit.weights)
        biases = tuple(name for unit in family for name in unit.biases)
        one = next((unit for unit in family if unit.biases), family[0])
        whole = Unit(mask, one.kind, weights, biases, one.shape, one.bias_shape, one.layout)
        joined.update((unit.path, whole) for unit in family)
    return tuple(dict.fromkeys(joined.get(unit.path, unit) for unit in units))


def head_families(units: Sequence[Unit], num_heads: int, d_model: int) -> frozenset[str]:
    """Return the families of layers for single heads, at sizes where nothing coincides."""
    return frozenset(
        mask
        for mask, family in _families(units).items()
        if len(family) == num_heads
        and any(math.prod(family[0].shape) * num_heads == n * d_model**2 for n in (1, 2, 3))
    )


def _families(units: Sequence[Unit]) -> dict[str, list[Unit]]:
    families: dict[str, list[Unit]] = {}
    for unit in units:
        for mask in naming.masks(unit.path):
            families.setdefault(mask, []).append(unit)
    return families


def _alike(family: Sequence[Unit], d_model: int) -> bool:
    """Tell whether all shapes are equal; where outputs are summed, one bias will do for all."""
    biases = {unit.bias_shape for unit in family}
    summed = family[0].shape[:1] == (d_model,)
    return len({unit.shape for unit in family}) == 1 and (
        len(biases) == 1 or (summed and len(biases - {()}) == 1)
    )


def _heads_by_name(mask: str, family: Sequence[Unit], d_model: int) -> bool:
    share = math.prod(family[0].shape) * len(family)
    count, rest = divmod(share, d_model * d_model)
    if rest or count not in (1, 2, 3):
        return False
    # Two heads' kv and a list of key and value have equal sizes: the name decides.
    fused = len(naming.parts_of(mask)) == count or naming.is_fused(mask)
    whole_list = mask.endswith("#") and count == len(family)
    return count == 1 or (fused and not whole_list)


def with_twins(units: Sequence[Unit], twins: Sequence[Unit]) -> tuple[Unit, ...]:
    """Give each unit its counterpart at the twin's sizes, if it has one.

    A layer that has the same shape there, its sizes fixed, has none.
    """
    known = {unit.path: unit for unit in twins}
    found: list[Unit] = []
    for unit in units:
        paths = (unit.path, *naming.masks(unit.path))  # one head alone was not bundled
        twin = next((known[path] for path in paths if path in known), None)
        told = twin is not None and twin.shape not in ((), unit.shape)
        found.append(replace(unit, twin=twin) if told else unit)
    return tuple(found)


def with_biases_cut_off(units: Sequence[Unit], inputs: Collection[int]) -> tuple[Unit, ...]:
    """Part raw weights (D + 1, D), for inputs with a 1 at their end, into weight and bias.

    `inputs` has the lengths of inputs at the twins' sizes.
    """
    found: list[Unit] = []
    for unit in units:
        twin = unit.twin
        longer = [n for n, size in enumerate(twin.shape if twin else ()) if size - 1 in inputs]
        if twin is None or unit.layout == "torch" or unit.biases or len(longer) != 1:
            found.append(unit)
            continue
        found.append(replace(_cut(unit, longer[0]), twin=_cut(twin, longer[0])))
    return tuple(found)


def _cut(unit: Unit, axis: int) -> Unit:
    shape = (*unit.shape[:axis], unit.shape[axis] - 1, *unit.shape[axis + 1 :])
    bias_shape = (*unit.shape[:axis], *unit.shape[axis + 1 :])
    return replace(unit, shape=shape, biases=unit.weights, bias_shape=bias_shape, cut=axis)
