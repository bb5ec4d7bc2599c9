"""Turn layers that only hold their weights in another way into plain ones.

The module computes the same afterwards, and its weights can be written.
"""

from __future__ import annotations

from collections.abc import Callable

from torch import nn
from torch.nn.modules.lazy import LazyModuleMixin
from torch.nn.utils import parametrize, remove_weight_norm
from torch.nn.utils.parametrizations import _WeightNorm


def may_wrap(source: str) -> bool:
    """Tell whether a file speaks of such layers at all; a look through a module costs more."""
    return "Lazy" in source or "weight_norm" in source


def unwrap(module: nn.Module, call: Callable[[], object] | None = None) -> None:
    """Take weight norms off, and have lazy layers made by `call`, if given."""
    for inner in module.modules():
        if parametrize.is_parametrized(inner, "weight") and any(
            isinstance(one, _WeightNorm)
            for one in inner.parametrizations["weight"]  # type: ignore[index, union-attr]
        ):
            parametrize.remove_parametrizations(inner, "weight")
        elif hasattr(inner, "weight_g") and hasattr(inner, "weight_v"):
            remove_weight_norm(inner)
    if call is not None and any(isinstance(inner, LazyModuleMixin) for inner in module.modules()):
        call()
