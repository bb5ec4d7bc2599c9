"""Switch torch's dropout off, and measure by the values what dropout does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

NAMES = frozenset(
    {
        "dropout", "dropout_", "dropout1d", "dropout2d", "dropout3d", "native_dropout",
        "alpha_dropout", "alpha_dropout_", "feature_dropout", "feature_dropout_",
        "feature_alpha_dropout", "feature_alpha_dropout_",
    }
)  # fmt: skip


class _Undropped(TorchFunctionMode):
    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if getattr(func, "__name__", "") in NAMES and (args or "input" in kwargs):
            value = args[0] if args else kwargs["input"]
            return (value, torch.ones_like(value)) if func.__name__[:6] == "native" else value
        return func(*args, **kwargs)


def dropout_off() -> TorchFunctionMode:
    """Let whatever dropout of torch's is called inside return what it is given."""
    return _Undropped()


@dataclass(frozen=True)
class Drops:
    """What dropout did to values that were all 1, as shares from 0 to 1 but for `size`.

    `alive`: tokens of which something is left; of those tokens, `share`: values
    that were dropped, and `size`: the mean of the others. `rows`, `tokens` and
    `features`: values that met the same end as their neighbour along that axis.
    `luck` is by how much the number of values dropped varies between tokens, over what
    it would if each went by itself; `equal` is 1 where all that are left have one size.
    """

    alive: float
    share: float
    size: float
    rows: float
    tokens: float
    features: float
    luck: float
    equal: float

    @property
    def gone(self) -> float:
        """Return the share of all values that were dropped."""
        return 1 - self.alive * (1 - self.share)

    @property
    def some(self) -> bool:
        """Tell whether some values were dropped, and not all."""
        return _partial(self.gone)

    @property
    def shared(self) -> tuple[bool, bool, bool]:
        """Tell along which axes one draw decides for many values."""
        return (
            self.some and self.rows > ALIKE,
            self.some and self.tokens > ALIKE,
            self.some and self.features > ALIKE,
        )


def dropped(returned: Tensor) -> tuple[float, ...]:
    """Measure dropout by an output (B, L, D) laid out for it, see `added`."""
    if returned.dim() != 3 or returned.shape[-1] < 4:
        return ()
    left = added(returned).clamp(-2, 2)
    gone = _gone(left)
    alive = ~gone.all(-1)
    found = Drops(
        alive=_mean(alive),
        share=_mean(gone[alive]),
        size=_mean(left[~gone]),
        rows=_mean(gone[1:] == gone[:-1]),
        tokens=_mean(gone[:, 1:] == gone[:, :-1]),
        features=_mean(gone[..., 1:] == gone[..., :-1]),
        luck=_luck(gone[alive].double()),
        equal=float((left[~gone] - left[~gone][:1]).abs().le(EQUAL).all()),
    )
    return astuple(found)


def some(drops: Sequence[float]) -> bool:
    """Tell whether a measurement shows that some values were dropped, and not all."""
    return bool(drops) and Drops(*drops).some


def same_drops(one: Tensor, other: Tensor) -> bool:
    """Tell whether two outputs (B, L, D), laid out for dropout, lack the same values."""
    if one.dim() != 3 or one.shape != other.shape or one.shape[-1] < 4:
        return False
    first, second = _gone(added(one)), _gone(added(other))
    return torch.equal(first, second) and _partial(_mean(first))


def added(returned: Tensor) -> Tensor:
    """Return what a sublayer added (B, L, D - 2), of an output laid out by `with_dropout_seen`.

    Its tokens are x + d, stretched and shifted by norms: x is 1 and -1 in turn, and d
    is 0 in the first two features and what dropout made of 1 in the others. So the
    first two tell how a token was stretched.
    """
    out = returned.double()
    first, second = out[..., :1], out[..., 1:2]
    signs = torch.ones(out.shape[-1], dtype=torch.float64)
    signs[1::2] = -1
    left = ((out - first) * 2 / (first - second) + 1 - signs)[..., 2:]
    return left.nan_to_num(0.0, 0.0, 0.0)


def _gone(left: Tensor) -> Tensor:
    return left.abs() < 1e-3


def _partial(share: float) -> bool:
    return 0.01 < share < 0.99


def _mean(values: Tensor) -> float:
    return float(values.double().mean()) if values.numel() else 0.0


def _luck(gone: Tensor) -> float:
    """Return the variance of the row sums of 0 and 1 (N, F), over that of independent ones."""
    share = _mean(gone)
    if len(gone) < LEAST_TOKENS or not _partial(share):
        return 1.0
    return float(gone.sum(-1).var()) / (gone.shape[-1] * share * (1 - share))


# What right dropout is off by has a chance below 1e-9 to be more than this: with the 7680
# values of a case, one deviation of `share` is 0.005, and with dropout inside the
# sublayer as well, one of `size` is about 0.014.
SHARE_ROOM, SIZE_ROOM, ALIKE = 0.04, 0.13, 0.9
# Values of one size leave no room for chance. Of so many tokens, the variance is below
# half of what is due with a chance below 1e-9.
EQUAL, LEAST_LUCK, LEAST_TOKENS = 1e-4, 0.5, 200
# Two runs of the same mistake draw other numbers; of whole tokens there are 256 only.
SAME_ROOM = Drops(
    alive=0.1, share=0.1, size=0.2, rows=0.1, tokens=0.1, features=0.1, luck=0.6, equal=1.0
)


def fault(drops: Sequence[float], rate: float, given: str) -> tuple[str, str, str] | None:
    """Say what is wrong with measured dropout: message, expected and got; None if nothing is.

    `given` are the words for how it came by its rate.
    """
    if not drops:
        return None
    found = Drops(*drops)
    size_room = 5 * EQUAL if found.equal else SIZE_ROOM
    alike = {"row": found.rows, "token": found.tokens, "feature": found.features}
    gone = found.gone
    tests = (
        (
            any(found.shared),
            f"dropout treats each {max(alike, key=lambda name: alike[name])} like the next",
            "every value dropped or kept by itself",
            f"{max(alike.values()):.0%} of neighbours alike",
        ),
        (
            abs(gone - rate) > SHARE_ROOM,
            f"{given}, {gone:.0%} of a sublayer's values come out as 0",
            f"{rate:.0%} dropped",
            f"{gone:.0%} dropped",
        ),
        (
            abs(found.size * (1 - rate) - 1) > size_room,
            f"{given}, values that are kept come out {found.size:.3f} times as large",
            f"{1 / (1 - rate):.3f} times, so that the mean stays",
            f"{found.size:.3f} times",
        ),
        (
            found.luck < LEAST_LUCK,
            "dropout drops much the same number of features in each token",
            "every value dropped or kept by itself",
            f"the number varies {found.luck:.2f} times as much as it would",
        ),
    )
    return next(((m, e, g) for failing, m, e, g in tests if failing), None)


def alike(left: Sequence[float], right: Sequence[float]) -> bool:
    """Tell whether two measurements may come from the same code with other random numbers."""
    if not left or not right:
        return len(left) == len(right)
    a, b = Drops(*left), Drops(*right)
    if any(a.shared):
        # So few draws that the shares say little.
        return a.shared == b.shared and abs(a.size - b.size) <= SAME_ROOM.size
    rooms = zip(left, right, astuple(SAME_ROOM), strict=True)
    return all(abs(one - other) <= room for one, other, room in rooms)
