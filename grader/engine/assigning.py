"""Decide which layer plays which role.

Norms, the feed-forward network and each attention are settled one by one, each
with its choices, best first; `assign` combines them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice, permutations, zip_longest
from math import prod

from grader.engine import naming
from grader.engine.attending import (
    LIMIT,
    attention_choices,
    attention_homes,
    best_first,
    by_owner,
    outside,
)
from grader.engine.gathering import Held, Unit, bundle, gather
from grader.engine.placing import Choice, Need, Shapes, Slot, options, settle
from grader.model import Role, Shape


@dataclass(frozen=True)
class Alignment:
    """One way to read the learner's module.

    `missing` names roles without a layer, and weights that a norm lacks;
    `absent` biases that linear layers do without, which is free. `leftover`
    are parameters without a role. `notes` tell what was guessed, `reasons` why
    a layer with a clear name was refused. `zeroed` are biases that the
    contract does not have.
    """

    slots: tuple[Slot, ...]
    missing: tuple[str, ...]
    absent: tuple[str, ...]
    leftover: tuple[tuple[str, Shape], ...]
    notes: tuple[str, ...]
    reasons: tuple[str, ...] = ()
    zeroed: tuple[str, ...] = ()


def assign(
    held: tuple[Held, ...], roles: Sequence[Role], shapes: Shapes, num_heads: int
) -> tuple[Alignment, ...]:
    """Return every alignment worth trying, best first, at least one."""
    need = Need(shapes, num_heads)
    layers = gather(held)
    attention = [r for r in roles if r.part in ("query", "key", "value", "output")]
    feed_forward = [r for r in roles if r.part in ("ffn_in", "ffn_out")]
    linears = layers.linears
    if attention:
        linears = bundle(linears, num_heads, need.weight(attention[0])[1])
    homes = attention_homes(held, linears, attention, need)
    pair = _feed_forward_units(outside(linears, homes), feed_forward, need)
    rest = [unit for unit in linears if unit not in pair]
    fixed = [
        _norm_choices(layers.norms, [r for r in roles if r.part == "norm"], need),
        _feed_forward_choices(pair, feed_forward, need),
    ]
    classes = {item.path: item.class_name for item in held}
    readings: list[Iterable[Alignment]] = []
    for groups, notes in by_owner(rest, homes, attention, classes):
        lists = [
            attention_choices(units, layers, [r for r in attention if r.owner == owner], need)
            for owner, units in groups.items()
        ]
        combined = list(islice(best_first([*lists, *fixed]), 8 * LIMIT))
        # Two attentions are most likely laid out alike.
        combined.sort(key=lambda c: len({choice.label for choice in c if choice.label}))
        readings.append([_alignment(held, c, notes) for c in combined[:LIMIT]])
    mixed = (one for several in zip_longest(*readings) for one in several if one is not None)
    return tuple(islice(mixed, LIMIT))


def _alignment(
    held: Sequence[Held], choices: Sequence[Choice], notes: tuple[str, ...]
) -> Alignment:
    slots = tuple(slot for choice in choices for slot in choice.slots)
    zeroed = tuple(name for choice in choices for name in choice.zeroed)
    used = {slot.parameter for slot in slots} | set(zeroed)
    every = [(f"{h.path}.{n}" if h.path else n, tuple(s)) for h in held for n, s in h.own]
    return Alignment(
        slots,
        tuple(name for choice in choices for name in choice.missing),
        tuple(name for choice in choices for name in choice.absent),
        tuple((name, shape) for name, shape in every if name not in used),
        (*notes, *(note for choice in choices for note in choice.notes)),
        tuple(reason for choice in choices for reason in choice.reasons),
        zeroed,
    )


# --- norms -------------------------------------------------------------------


def _is_vector(shape: Shape, size: int) -> bool:
    return prod(shape) == size and sum(axis != 1 for axis in shape) <= 1


def _norm_choices(units: Sequence[Unit], roles: Sequence[Role], need: Need) -> list[Choice]:
    """Return the orders in which the units can fill the norms' roles, best first."""
    if not roles:
        return [Choice()]
    (size,) = need.weight(roles[0])
    right = [
        unit
        for unit in units
        if not (unit.weights or unit.biases) or _is_vector(unit.shape or unit.bias_shape, size)
    ]
    # A norm without gain and shift, beside enough that have them, is only the formula.
    full = [unit for unit in right if unit.weights or unit.biases]
    if len(full) >= len(roles):
        right = full
    reasons = [
        f"`{unit.path}` has a weight of shape {tuple(unit.shape)} where ({size},) is due"
        for unit in units
        if unit not in right and "norm" in naming.leaf(unit.path).lower()
    ]
    places, told = naming.order_norms([unit.path for unit in right], len(roles))
    seated = dict(zip(places, right, strict=True))
    orders = [tuple(seated.get(place) for place in range(len(roles)))]
    if not told:
        empty = [None] * (len(roles) - len(right))
        orders += islice(permutations([*right, *empty], len(roles)), LIMIT)
    silent = not told and len(roles) > 1
    choices = [
        _settle_norms(order, roles, need, reasons, silent) for order in dict.fromkeys(orders)
    ]
    if len(roles) == 1 and len(right) > 1:
        # One norm is asked for, and several are there: one may serve each option.
        alone = [_settle_norms((unit,), roles, need, reasons, silent) for unit in right]
        slots = tuple(slot for choice in alone for slot in choice.slots)
        missing = tuple(dict.fromkeys(name for choice in alone for name in choice.missing))
        choices.insert(1, Choice(slots, missing, reasons=tuple(reasons)))
    return choices


def _settle_norms(
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
            if name in need.shapes and names and _is_vector(shape, size):
                slots.append(Slot(name, names[0], due, (0,)))
            elif name in need.shapes:
                missing.append(name)
        if silent:
            notes.append(f"took `{unit.path}` as {role.name}: its name does not say")
    return Choice(tuple(slots), tuple(missing), (), tuple(notes), tuple(reasons))


# --- the feed-forward network ------------------------------------------------


def _doubt(unit: Unit) -> int:
    """Return how little the name speaks for a feed-forward layer."""
    if naming.is_feed_forward(unit.path):
        return 0
    if naming.parts_of(unit.path) not in ((), ("output",)) or naming.is_attention(unit.path):
        return 3
    return 1 if naming.numbers(unit.path) else 2


def _feed_forward_units(
    units: Sequence[Unit], roles: Sequence[Role], need: Need
) -> tuple[Unit, ...]:
    """Return the units of the feed-forward network, in the order of the roles."""
    if len(roles) < 2:
        return ()
    first = [unit for unit in units if need.layouts(unit, roles[0])]
    second = [unit for unit in units if need.layouts(unit, roles[1])]
    place = {unit: index for index, unit in enumerate(units)}

    def rank(pair: tuple[Unit, Unit]) -> tuple[int, ...]:
        # Of equal pairs, the first and the last of the layers.
        a, b = pair
        backwards = place[b] < place[a]
        return _doubt(a) + _doubt(b), _against(a, b), backwards, place[a], -place[b]

    pairs = [(a, b) for a in first for b in second if a != b]
    if pairs:
        return min(pairs, key=rank)
    return tuple(sorted({*first, *second}, key=lambda unit: (_doubt(unit), place[unit]))[:1])


def _against(first: Unit, second: Unit) -> int:
    """Return 1 where names say that the order is the other one, -1 where they confirm it."""
    if (told := naming.compare_numbers(first.path, second.path)) != 0:
        return told
    places = (naming.feed_forward_place(first.path), naming.feed_forward_place(second.path))
    if places[0] == places[1]:
        return 0
    return 1 if places[0] == 1 or places[1] == 0 else -1


def _feed_forward_choices(units: Sequence[Unit], roles: Sequence[Role], need: Need) -> list[Choice]:
    if not units:
        return [settle((), roles, need)]
    if len(units) == 1:
        seats = [[role] for role in roles if need.layouts(units[0], role)]
        orders = [units] * len(seats)
    else:
        silent = _against(*units) == 0
        orders = [units, units[::-1]] if silent else [units]
        seats = [list(roles)] * len(orders)
    choices: list[Choice] = []
    for order, seat in zip(orders, seats, strict=True):
        lists = [options(unit, role, need) for unit, role in zip(order, seat, strict=True)]
        if not all(lists):
            # The shapes decide here; where D = F they do not, and this guess differs.
            lists = [options(unit, role, need) for unit, role in zip(units, seat, strict=True)]
        combined = sorted(best_first(lists), key=lambda c: len({p.style for p in c}))
        unnamed = order if len(orders) > 1 and need.layouts(order[0], roles[-1]) else ()
        choices.extend(settle(c, roles, need, silent=unnamed) for c in combined)
    return choices
