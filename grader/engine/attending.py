"""Fill the roles of each attention, and tell two attentions apart."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, permutations
from typing import TypeVar

from grader.engine import naming
from grader.engine.gathering import Held, Layers, Unit
from grader.engine.placing import Choice, Need, Placement, options, refusal, settle
from grader.model import Role

LIMIT = 200
T = TypeVar("T")
_ORDER = ("query", "key", "value", "output")


def best_first(lists: Sequence[Sequence[T]]) -> Iterator[tuple[T, ...]]:
    """Yield one of each list in every combination, smallest sum of positions first."""
    if not all(lists):
        return
    start: tuple[int, ...] = (0,) * len(lists)
    heap: list[tuple[int, tuple[int, ...]]] = [(0, start)]
    seen: set[tuple[int, ...]] = {start}
    while heap:
        total, places = heapq.heappop(heap)
        yield tuple(one[place] for one, place in zip(lists, places, strict=True))
        for axis, place in enumerate(places):
            step = (*places[:axis], place + 1, *places[axis + 1 :])
            if place + 1 < len(lists[axis]) and step not in seen:
                seen.add(step)
                heapq.heappush(heap, (total + 1, step))


class Seating:
    """The state of filling one attention's roles: what is open, and what was decided.

    Each decision is a list of options, best first; an option places one or
    more units. Names go first, then fused layers, then whatever is left.
    """

    def __init__(self, units: Sequence[Unit], roles: Sequence[Role], need: Need) -> None:
        self.need = need
        self.open = {role.part: role for role in roles}
        self.decisions: list[list[tuple[Placement, ...]]] = []
        self.reasons: list[str] = []
        self.named: dict[str, list[Unit]] = {}
        self.fused: list[tuple[Unit, int]] = []
        self.plain: list[Unit] = []
        for unit in units:
            parts = naming.parts_of(unit.path)
            count = need.count(unit, roles[0])
            if len(parts) == 1:
                self.named.setdefault(parts[0], []).append(unit)
            elif 2 <= count <= 4 and need.layouts(unit, roles[0], count):
                self.fused.append((unit, count))
            else:
                self.plain.append(unit)
        for part, claimants in list(self.named.items()):
            if len(claimants) > 2:  # a list whose own name happens to be a role's
                lost = self.named.pop(part)
                self.plain = [u for u in units if u in self.plain or u in lost]

    def seat_named(self) -> None:
        inner: list[list[Placement]] = []
        for part, claimants in self.named.items():
            if part not in self.open:
                continue
            role = self.open.pop(part)
            found = [p for unit in claimants for p in options(unit, role, self.need)]
            if not found:
                self.reasons.append(refusal(claimants[0], role, self.need))
            elif part == "output" or len(claimants) > 1:
                self.decisions.append([(p,) for p in found])
            else:
                inner.append(found)
        if inner:
            self.decisions.append(_side_by_side(inner))

    def seat_weak_output(self) -> None:
        """Take a lone `proj`, `fc`, `linear` or `dense` as the output projection."""
        weak = [u for u in self.plain if naming.is_weak_output(u.path)]
        if "output" not in self.open or len(weak) != 1:
            return
        found = options(weak[0], self.open["output"], self.need)
        if found:
            self.decisions.append([(p,) for p in found])
            del self.open["output"]
            self.plain.remove(weak[0])

    def seat_fused(self) -> None:
        for unit, count in self.fused:
            parts = [part for part in naming.parts_of(unit.path) if part in self.open]
            if len(parts) != count:
                parts = self._unsaid_parts(count)
            if len(parts) == count:
                roles = [self.open.pop(part) for part in parts]
                self.decisions.append(_fused_options(unit, roles, self.need))

    def _unsaid_parts(self, count: int) -> list[str]:
        inner = [part for part in _ORDER if part in self.open]
        if count == 2:  # query and key, or key and value: whichever leaves one name over
            inner = [part for part in inner if part != "output"]
            return inner[-2:]
        return inner[:count]

    def seat_rest(self) -> None:
        roles = list(self.open.values())
        left = [u for u in self.plain if any(self.need.layouts(u, role) for role in roles)]
        if found := _arrangements(left, roles, self.need):
            self.decisions.append(found)


def attention_choices(
    units: Sequence[Unit],
    layers: Layers,
    roles: Sequence[Role],
    need: Need,
    twin: Layers | None = None,
) -> list[Choice]:
    """Return the ways to fill the roles of one attention, best first.

    A clear name with a wrong shape leaves its role unfilled. `twin` holds the
    same layers at other sizes.
    """
    if not roles:
        return [Choice()]
    seating = Seating(units, roles, need)
    seating.seat_named()
    seating.seat_weak_output()
    seating.seat_fused()
    seating.seat_rest()
    combined = [
        tuple(placement for option in chosen for placement in option)
        for chosen in islice(best_first(seating.decisions), 4 * LIMIT)
    ]
    # The output projection is most likely written the same way round as the others.
    combined.sort(key=lambda c: len({placement.style for placement in c if placement.style}))
    twins = dict(twin.loose) if twin else {}
    loose = {
        naming.parts_of(name)[0]: (name, shape, twins.get(name)) for name, shape in layers.loose
    }
    return [settle(c, roles, need, loose, seating.reasons, seating.plain) for c in combined[:LIMIT]]


def _side_by_side(lists: Sequence[Sequence[Placement]]) -> list[tuple[Placement, ...]]:
    """Return the first options of all lists, the second ones, and so on.

    One hand writes all raw matrices the same way round.
    """
    depth = max(len(one) for one in lists)
    return [tuple(one[min(n, len(one) - 1)] for one in lists) for n in range(depth)]


def _fused_options(unit: Unit, roles: Sequence[Role], need: Need) -> list[tuple[Placement, ...]]:
    found = need.layouts(unit, roles[0], len(roles))
    orders = list(permutations(roles))
    placed: list[tuple[Placement, ...]] = []
    for place, (order, axes) in enumerate(_pairs(orders, found)):
        said = ", ".join(role.part for role in order)
        note = "" if order == orders[0] else f"`{unit.path}` holds, in this order: {said}"
        placed.append(
            tuple(
                Placement(role, unit, axes, len(roles), pick, f"fused {place}", note)
                for pick, role in enumerate(order)
            )
        )
    return placed


def _pairs(
    orders: Sequence[tuple[Role, ...]], layouts: Sequence[str]
) -> list[tuple[tuple[Role, ...], str]]:
    """Return every pair, smallest sum of positions first."""
    every = [(i + j, i, j) for i in range(len(orders)) for j in range(len(layouts))]
    return [(orders[i], layouts[j]) for _, i, j in sorted(every)]


def _arrangements(
    units: Sequence[Unit], roles: Sequence[Role], need: Need
) -> list[tuple[Placement, ...]]:
    """Return the ways to seat units whose names say nothing, order of creation first."""
    empty = [None] * max(0, len(roles) - len(units))
    seatings = list(dict.fromkeys(islice(permutations([*units, *empty], len(roles)), 2000)))

    def misplaced(seating: Sequence[Unit | None]) -> int:
        return sum(
            unit is not None and naming.is_weak_output(unit.path) and role.part != "output"
            for unit, role in zip(seating, roles, strict=True)
        )

    found: list[tuple[Placement, ...]] = []
    for seating in sorted(seatings, key=misplaced):
        lists = [
            options(unit, role, need)
            for unit, role in zip(seating, roles, strict=True)
            if unit is not None
        ]
        if lists and all(lists):
            found.extend(_side_by_side(lists))
    return found[:LIMIT]


# --- which attention is which ------------------------------------------------


def _within(unit: Unit, home: str) -> bool:
    return unit.path.startswith(f"{home}.")


def outside(units: Sequence[Unit], homes: Sequence[str]) -> list[Unit]:
    """Return the units in none of the homes."""
    return [unit for unit in units if not any(_within(unit, home) for home in homes)]


def attention_homes(
    held: Sequence[Held], units: Sequence[Unit], roles: Sequence[Role], need: Need
) -> list[str]:
    """Return the paths of the submodules that are an attention each, the deepest that are."""
    if not any(role.owner for role in roles):
        return []
    found: list[str] = []
    for item in held:
        inner = [unit for unit in units if item.path and _within(unit, item.path)]
        if inner and not naming.is_feed_forward(item.path) and _attends(inner, roles[0], need):
            found.append(item.path)
    return [a for a in found if not any(b.startswith(f"{a}.") for b in found)]


def _attends(units: Sequence[Unit], role: Role, need: Need) -> bool:
    named = {part for unit in units for part in naming.parts_of(unit.path)} - {"output"}
    whole = [unit for unit in units if need.count(unit, role) == 1]
    # At F = 3 D, the first feed-forward layer has the size of a fused one, but
    # the second has its shape turned round.
    shapes = {tuple(unit.shape) for unit in units if len(unit.shape) == 2}
    fused = any(
        naming.is_fused(unit.path.removesuffix(".weight"))
        or (
            need.count(unit, role) == 3
            and bool(need.layouts(unit, role, 3))
            and tuple(reversed(unit.shape)) not in shapes
        )
        for unit in units
    )
    return len(named) > 1 or len(whole) > 2 or fused


def by_owner(
    units: Sequence[Unit],
    homes: Sequence[str],
    roles: Sequence[Role],
    classes: Mapping[str, str],
) -> Iterator[tuple[dict[str, list[Unit]], tuple[str, ...]]]:
    """Yield the units of each owner with notes, in one or two ways to tell the owners apart.

    `classes` has the name of each module's class by its path.
    """
    owners = list(dict.fromkeys(role.owner for role in roles))
    if len(owners) < 2:
        yield {str(owner): list(units) for owner in owners}, ()
        return
    groups = _grouped(units, homes)
    paths = list(groups)
    if len(paths) < 2:
        owner = (naming.owner_of(paths[0]) if paths else "") or owners[0]
        yield {o: groups[paths[0]] if paths and o == owner else [] for o in owners}, ()
        return
    order, told = naming.order_attentions(paths)
    notes: tuple[str, ...] = ()
    if not told:
        order, _ = naming.order_attentions([classes.get(path, "") for path in paths])
        notes = (
            "`{}` was taken for the self-attention and `{}` for the cross-attention, since their"
            " names do not say which is which",
        )
    for first, second in [order] if told else [order, order[::-1]]:
        said = tuple(note.format(paths[first], paths[second]) for note in notes)
        yield {"self": groups[paths[first]], "cross": groups[paths[second]]}, said


def _grouped(units: Sequence[Unit], homes: Sequence[str]) -> dict[str, list[Unit]]:
    groups: dict[str, list[Unit]] = {home: [] for home in homes}
    for unit in units:
        home = _nearest(unit, homes)
        if not homes:  # all layers stand side by side: their own names must tell
            counted = naming.numbers(unit.path)
            home = naming.owner_of(unit.path) or (str(counted[0]) if counted else "")
        if home is not None:
            groups.setdefault(home, []).append(unit)
    return groups


def _nearest(unit: Unit, homes: Sequence[str]) -> str | None:
    """Return the home that the unit is in, or the one whose path is most like its own."""
    shared: dict[str, int] = {}
    for home in homes:
        if _within(unit, home):
            return home
        pairs = zip(unit.path.split("."), home.split("."), strict=False)
        same = next((i for i, (a, b) in enumerate(pairs) if a != b), home.count(".") + 1)
        owner = naming.owner_of(unit.path)
        shared[home] = same + 100 * bool(owner and owner == naming.owner_of(home))
    best = max(shared.values(), default=0)
    nearest = [home for home in homes if shared[home] == best]
    return nearest[0] if best and len(nearest) == 1 else None
