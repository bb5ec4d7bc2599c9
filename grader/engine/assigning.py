"""Decide which layer plays which role.

Norms, the feed-forward network and each attention are settled one by one, each
with its choices, best first; `assign` combines them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import islice, zip_longest

from grader.engine import naming
from grader.engine.attending import (
    LIMIT,
    attention_choices,
    attention_homes,
    best_first,
    by_owner,
    outside,
)
from grader.engine.bundling import bundle, head_families, with_biases_cut_off, with_twins
from grader.engine.gathering import Held, Twin, Unit, gather
from grader.engine.norming import norm_choices, zero_centred
from grader.engine.placing import Choice, Need, Shapes, Slot, options, settle
from grader.engine.spreading import spread_biases, spread_vectors
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
    held: tuple[Held, ...],
    roles: Sequence[Role],
    shapes: Shapes,
    num_heads: int,
    twin: Twin | None = None,
) -> tuple[Alignment, ...]:
    """Return every alignment worth trying, best first, at least one.

    With `twin`, the shapes at its sizes decide.
    """
    attention = [r for r in roles if r.part in ("query", "key", "value", "output")]
    feed_forward = [r for r in roles if r.part in ("ffn_in", "ffn_out")]
    norms = [r for r in roles if r.part == "norm"]
    other = gather(twin.held, twin) if twin else None
    need = Need(shapes, num_heads)
    layers = gather(held, twin)
    linears = layers.linears
    told: frozenset[str] | None = None
    if twin and other:
        need = Need(shapes, num_heads, Need(_shapes_at(twin, roles), twin.num_heads))
        if attention:
            told = head_families(other.linears, twin.num_heads, twin.d_model)
    if attention:
        linears = bundle(linears, num_heads, need.weight(attention[0])[1], told)
    if twin and other:
        theirs = other.linears
        if attention:
            theirs = bundle(theirs, twin.num_heads, twin.d_model, told)
        linears = with_twins(linears, theirs)
        linears = with_biases_cut_off(linears, (twin.d_model, twin.d_ff))
        # A shape that is wrong there may be right here: (d, d) with one head.
        linears = tuple(u if need.reads_twin(u, roles) else replace(u, twin=None) for u in linears)
    homes = attention_homes(held, linears, attention, need)
    pair = _feed_forward_units(outside(linears, homes), feed_forward, need)
    rest = [unit for unit in linears if unit not in pair]
    ffn = _feed_forward_choices(pair, feed_forward, need)
    affine = norm_choices(layers, norms, need)
    if norms and affine[0].missing:
        affine = spread_vectors(layers, other, linears, roles, need, ffn[0].absent) or affine
    placed = [slot for choice in (affine[0], ffn[0]) for slot in choice.slots]
    biases = spread_biases(layers, other, feed_forward, need, placed)
    affine += zero_centred(affine, twin.zeros if twin else frozenset())
    classes = {item.path: item.class_name for item in held}
    readings: list[Iterable[Alignment]] = []
    for groups, notes in by_owner(rest, homes, attention, classes):
        lists = [
            attention_choices(
                units, layers, [r for r in attention if r.owner == owner], need, other
            )
            for owner, units in groups.items()
        ]
        combined = list(islice(best_first([*lists, affine, ffn, biases]), 8 * LIMIT))
        # Two attentions are most likely laid out alike.
        combined.sort(key=lambda c: len({choice.label for choice in c if choice.label}))
        readings.append([_alignment(held, c, notes) for c in combined[:LIMIT]])
    mixed = (one for several in zip_longest(*readings) for one in several if one is not None)
    return tuple(islice(mixed, LIMIT))


def _shapes_at(twin: Twin, roles: Sequence[Role]) -> dict[str, Shape]:
    """Return the shapes of the contract's weights at the twin's sizes."""
    d_model, d_ff = twin.d_model, twin.d_ff
    by_part: dict[str, Shape] = {
        "norm": (d_model,),
        "ffn_in": (d_ff, d_model),
        "ffn_out": (d_model, d_ff),
    }
    return {f"{r.name}.weight": by_part.get(r.part, (d_model, d_model)) for r in roles}


def _alignment(
    held: Sequence[Held], choices: Sequence[Choice], notes: tuple[str, ...]
) -> Alignment:
    slots = tuple(slot for choice in choices for slot in choice.slots)
    placed = {slot.weight for slot in slots}
    zeroed = tuple(name for choice in choices for name in choice.zeroed)
    used = {slot.parameter for slot in slots} | set(zeroed)
    every = [(f"{h.path}.{n}" if h.path else n, tuple(s)) for h in held for n, s in h.own]
    return Alignment(
        slots,
        tuple(name for choice in choices for name in choice.missing),
        tuple(n for choice in choices for n in choice.absent if n not in placed),
        tuple((name, shape) for name, shape in every if name not in used),
        (*notes, *(note for choice in choices for note in choice.notes)),
        tuple(reason for choice in choices for reason in choice.reasons),
        zeroed,
    )


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
