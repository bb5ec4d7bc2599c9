"""Settle which norm is which, where each norm is a layer or a gain with its shift."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice, permutations
from math import prod

from grader.engine import naming
from grader.engine.attending import LIMIT
from grader.engine.gathering import Layers, Unit
from grader.engine.placing import Choice, Need, Slot
from grader.model import Role, Shape


def is_vector(shape: Shape, size: int) -> bool:
    """Tell whether the shape is (size,), perhaps with axes of one element."""
    return prod(shape) == size and sum(axis != 1 for axis in shape) <= 1


def norm_choices(layers: Layers, roles: Sequence[Role], need: Need) -> list[Choice]:
    """Return the orders in which the units can fill the norms' roles, best first."""
    if not roles:
        return [Choice()]
    (size,) = need.weight(roles[0])
    right = [
        unit
        for unit in layers.norms
        if not (unit.weights or unit.biases) or is_vector(unit.shape or unit.bias_shape, size)
    ]
    # A norm without gain and shift, beside enough that have them, is only the formula,
    # and a vector alone, beside enough norms that have both, is the bias of some layer.
    shifted = f"{roles[0].name}.bias" in need.shapes
    for fit in (
        [unit for unit in right if unit.weights or unit.biases],
        [unit for unit in right if unit.weights and (unit.biases or not shifted)],
    ):
        right = fit if len(fit) >= len(roles) else right
    reasons = [
        f"`{unit.path}` has a weight of shape {tuple(unit.shape)} where ({size},) is due"
        for unit in layers.norms
        if unit not in right and "norm" in naming.leaf(unit.path).lower()
    ]
    places, told = naming.order_norms([unit.path for unit in right], len(roles))
    seated = dict(zip(places, right, strict=True))
    orders = [tuple(seated.get(place) for place in range(len(roles)))]
    if not told:
        empty = [None] * (len(roles) - len(right))
        orders += islice(permutations([*right, *empty], len(roles)), LIMIT)
    # Norms that are created in the order of their use need no word.
    choices = [
        _settle(order, roles, need, reasons, place > 0 and len(roles) > 1)
        for place, order in enumerate(dict.fromkeys(orders))
    ]
    if len(roles) == 1 and len(right) > 1:
        # One norm is asked for, and several are there: one may serve each option.
        alone = [_settle((unit,), roles, need, reasons, False) for unit in right]
        slots = tuple(slot for choice in alone for slot in choice.slots)
        missing = tuple(dict.fromkeys(name for choice in alone for name in choice.missing))
        choices.insert(1, Choice(slots, missing, reasons=tuple(reasons)))
    return choices


def zero_centred(choices: Sequence[Choice], zeros: frozenset[str]) -> list[Choice]:
    """Return the choices in which the layers add 1 to their gains.

    Such gains are among the vectors that are zero from the start.
    """
    found: list[Choice] = []
    for choice in choices:
        gains = [slot.parameter for slot in choice.slots if slot.weight.endswith(".weight")]
        if gains and zeros.issuperset(gains):
            slots = (
                replace(slot, plus=-1) if slot.weight.endswith(".weight") else slot
                for slot in choice.slots
            )
            found.append(replace(choice, slots=tuple(slots)))
    return found


def _settle(
    order: Sequence[Unit | None],
    roles: Sequence[Role],
    need: Need,
    reasons: Sequence[str],
    silent: bool,
) -> Choice:
    slots: list[Slot] = []
    missing: list[str] = []
    notes: list[str] = []
    for unit, role in zip(order, roles, strict=True):
        if unit is None:
            missing.append(role.name)
            continue
        (size,) = due = need.weight(role)
        for own, names, shape in (
            ("weight", unit.weights, unit.shape),
            ("bias", unit.biases, unit.bias_shape),
        ):
            name = f"{role.name}.{own}"
            if name in need.shapes and names and is_vector(shape, size):
                slots.append(Slot(name, names[0], due, (0,)))
            elif name in need.shapes:
                missing.append(name)
        if silent:
            notes.append(
                f"`{unit.path}` was taken for {role.name}, since its name does not say which it is"
            )
    return Choice(tuple(slots), tuple(missing), (), tuple(notes), tuple(reasons))
