"""Find the layers of the contract in whatever module a learner wrote.

`alignments` guesses which parameter, or which rows of it, plays which role.
Where names decide there is one guess; where they do not, further ones follow,
for the engine to try. A clear name is never overruled: `k_proj` used as the
values is a mistake that has to show.

The guessing itself is in `assigning`; here are its results and their use.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from grader.engine import naming
from grader.engine.assigning import Alignment, assign
from grader.engine.gathering import Held, Twin, snapshot, unregistered
from grader.engine.placing import Slot
from grader.model import Role, Shape

__all__ = [
    "TWIN_SIZES",
    "Alignment",
    "Slot",
    "Twin",
    "alignments",
    "describe_missing",
    "read_gradients",
    "twin_of",
    "write_weights",
]

# No two of them are equal, nor any product of them that a shape could hold.
TWIN_SIZES = {"d_model": 70, "num_heads": 5, "d_ff": 22}


def alignments(
    module: nn.Module,
    roles: Sequence[Role],
    shapes: Mapping[str, Shape],
    num_heads: int = 1,
    ignore: Collection[int] = (),
    twin: Twin | None = None,
) -> tuple[Alignment, ...]:
    """Return where the canonical weights may live in the module, best guess first.

    `shapes` goes by canonical weight name. `ignore` holds the `id` of each
    parameter that is not the learner's (handed-in sublayers). There is always
    at least one alignment and never more than 200. With the module's `twin`
    (see `twin_of`), the n-th is the same guess whatever the sizes. Modules that
    hold the same names and shapes share the result.
    """
    wanted = tuple((name, tuple(shape)) for name, shape in shapes.items())
    return _cached(snapshot(module, ignore), tuple(roles), wanted, num_heads, twin)


@lru_cache(maxsize=512)
def _cached(
    held: tuple[Held, ...],
    roles: tuple[Role, ...],
    shapes: tuple[tuple[str, Shape], ...],
    num_heads: int,
    twin: Twin | None,
) -> tuple[Alignment, ...]:
    return assign(held, roles, dict(shapes), num_heads, twin)


def twin_of(
    build: Callable[..., nn.Module],
    options: Mapping[str, Any],
    ignore: Collection[int] = (),
    prepare: Callable[[nn.Module], object] = id,
) -> Twin | None:
    """Build a module once more, at sizes of which no two coincide, to read its shapes off.

    `options` are the constructor's keywords, of which sizes are replaced;
    `prepare` is called with what is built. Returns None where the constructor refuses.
    """
    own: dict[str, Any] = {name: TWIN_SIZES.get(name, value) for name, value in options.items()}
    try:
        module = build(**own)
        prepare(module)
        held = snapshot(module, ignore)
        vectors = [(n, p) for n, p in module.named_parameters() if not is_lazy(p) and p.dim() == 1]
        zeros = frozenset(name for name, vector in vectors if not vector.any())
    except Exception:  # noqa: BLE001 - a learner's constructor may raise anything
        return None
    return Twin(held, TWIN_SIZES["d_model"], own.get("num_heads", 1), TWIN_SIZES["d_ff"], zeros)


def _region(parameter: Tensor, slot: Slot) -> Tensor:
    if slot.cut is not None:
        parameter = parameter.narrow(*slot.cut)
    as_it_stands = slot.order == tuple(range(len(slot.order))) and slot.split == parameter.shape
    if as_it_stands and slot.pick is None:
        return parameter
    # Only splits axes of the parameter, so this is a view whatever its strides.
    view = parameter.view(slot.split).permute(slot.order)
    return view if slot.pick is None else view[slot.pick]


def _block(canonical: Tensor, slot: Slot) -> Tensor:
    return canonical if slot.block is None else canonical.narrow(*slot.block)


@dataclass(frozen=True)
class Places:
    """Views of a module's parameters where canonical weights go; good as long as the module is."""

    regions: tuple[tuple[Slot, Tensor], ...]
    zeroed: tuple[Tensor, ...]

    def write(self, weights: Mapping[str, Tensor]) -> None:
        """Copy canonical weights in, in the module's own dtype.

        Weights without a slot are skipped: those of missing roles, and biases
        that the learner's layers do not have (pass zeros there). Biases that
        the contract does not have are set to zero.
        """
        with torch.no_grad():
            for slot, region in self.regions:
                if slot.weight in weights:
                    source = weights[slot.weight]
                    if slot.block is not None or source.shape != region.shape:
                        source = _block(source, slot).reshape(region.shape)
                    region.copy_(source + slot.plus if slot.plus else source)
            for parameter in self.zeroed:
                parameter.zero_()


def places(module: nn.Module, alignment: Alignment) -> Places:
    """Find the parameters of `alignment` in the module."""
    parameters = dict(module.named_parameters(remove_duplicate=False))
    with torch.no_grad():
        return Places(
            tuple((slot, _region(parameters[slot.parameter], slot)) for slot in alignment.slots),
            tuple(parameters[name] for name in alignment.zeroed),
        )


def write_weights(module: nn.Module, alignment: Alignment, weights: Mapping[str, Tensor]) -> None:
    """Copy canonical weights into the module, in place; see `Places.write`."""
    places(module, alignment).write(weights)


def read_gradients(
    module: nn.Module, alignment: Alignment, shapes: Mapping[str, Shape]
) -> dict[str, Tensor | None]:
    """Return the gradients under their canonical names, the reverse of the writing.

    None where no part of the weight got one. Names without a slot (absent
    biases, missing roles) are left out.
    """
    parameters = dict(module.named_parameters(remove_duplicate=False))
    gradients: dict[str, Tensor | None] = {}
    for slot in alignment.slots:
        if slot.weight not in shapes:
            continue
        gradient = parameters[slot.parameter].grad
        gathered = gradients.setdefault(slot.weight, None)
        if gradient is None:
            continue
        if gathered is None:
            gathered = gradient.new_zeros(shapes[slot.weight])
            gradients[slot.weight] = gathered
        block = _block(gathered, slot)
        # Usually one region for each block; where several layers hold the same
        # weight (two norms, one used at a time), their gradients add up.
        block.add_(_region(gradient, slot).reshape(block.shape))
    return gradients


def describe_missing(
    alignment: Alignment, roles: Sequence[Role], module: nn.Module | None = None
) -> str:
    """Say which roles were found, which not, and which layers were left over.

    With `module`, also name layers that PyTorch cannot see because they sit in
    plain Python containers.
    """
    places: dict[str, str] = {}
    for slot in alignment.slots:
        places.setdefault(slot.weight.rpartition(".")[0], slot.parameter)
    by_name = {role.name: role for role in roles}
    lines: list[str] = []
    if alignment.missing:
        lines.append("Not found: " + "; ".join(_title(m, by_name) for m in alignment.missing) + ".")
    if places:
        found = ", ".join(f"{name} in `{place}`" for name, place in places.items())
        lines.append(f"Found: {found}.")
    if alignment.leftover:
        left = ", ".join(f"`{name}` {tuple(shape)}" for name, shape in alignment.leftover)
        lines.append(f"Left over: {left}.")
    lines.extend(
        f"{reason[0].upper() if reason[0] != '`' else '`'}{reason[1:]}."
        for reason in alignment.reasons
    )
    if alignment.missing and alignment.leftover and not alignment.reasons:
        lines.append("What is left over may be right in a form of its own, but cannot be read.")
    hidden = list(unregistered(module)) if module is not None else []
    if hidden:
        lines.append(
            "; ".join(hidden) + ". PyTorch only sees parameters and modules that are attributes,"
            " or that stand in an nn.ModuleList, nn.ModuleDict or nn.ParameterList."
        )
    elif not places and not alignment.leftover:
        lines.append("The module has no parameters at all.")
    return "\n".join(lines)


def _title(name: str, roles: Mapping[str, Role]) -> str:
    if name in roles:
        role = roles[name]
        of = f" of the {role.owner}-attention" if role.owner and role.part != "norm" else ""
        return f"the {naming.LABELS[role.part]}{of} ({name})"
    owner, _, own = name.rpartition(".")
    return f"the {own} of {_title(owner, roles)}" if owner in roles else name
