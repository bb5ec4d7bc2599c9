"""kata8 · Residual blocks, pre-norm and post-norm.

Wrap any sublayer in a residual connection with dropout and a layer norm, in
either of the two orders that Transformers use.

    post-norm  (norm_first=False)  norm(x + dropout(sublayer(x, ...)))
    pre-norm   (norm_first=True)   x + dropout(sublayer(norm(x), ...))

Shapes: B batch, L tokens, D = d_model.

    x       (B, L, D)
    output  (B, L, D)

The sublayer is handed in: a module or any other callable that takes a tensor
(B, L, D), and perhaps more, and returns a tensor (B, L, D). Whatever `forward`
is given beside x, by position or by keyword, goes to the sublayer unchanged.
A sublayer that is a module has to become part of the block: its parameters are
the block's, and it follows `.to()`, `.train()` and `.eval()`.

The norm is a layer norm over the D features with a gain and a shift; its eps is
free, from 1e-12 to 1e-5. Dropout does what nn.Dropout does: in train mode only,
each value by itself, and what is kept is divided by 1 - p. Dtype and device follow
the input. The block itself changes nothing in place, neither its input nor what
the sublayer returned, nor the sublayer's weights, and gradients reach all of
these. Half precision is tried too, but only noted.

Worked example: around a sublayer that returns zeros, the pre-norm block is
exactly the identity, and the post-norm block exactly the norm. For the token
x = [3, 1], gain 1 and shift 0, pre-norm returns [3, 1] and post-norm [1, -1].
"""

from collections.abc import Callable
from typing import Any

from torch import Tensor, nn


class ResidualBlock(nn.Module):
    """A sublayer with a residual connection, dropout and a layer norm.

    Args:
        d_model: size D of each token.
        sublayer: module or callable from (B, L, D) to (B, L, D).
        dropout: share of the sublayer's output that is dropped in train mode, below 1.
        norm_first: True for pre-norm, False for post-norm.
    """

    def __init__(
        self,
        d_model: int,
        sublayer: Callable[..., Tensor],
        dropout: float = 0.0,
        norm_first: bool = False,
    ) -> None:
        super().__init__()
        # TODO 1: keep the sublayer, and which of the two orders is asked for
        # TODO 2: one layer norm and one dropout
        raise NotImplementedError

    def forward(self, x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """Add the sublayer's answer to its input.

        Args:
            x: (B, L, D)
            args: handed to the sublayer after x
            kwargs: handed to the sublayer by keyword

        Returns:
            (B, L, D)
        """
        # TODO 1: pre-norm normalises what goes into the sublayer
        # TODO 2: call the sublayer, with everything else that was handed over
        # TODO 3: drop a share of its answer
        # TODO 4: add the input itself, as it came in
        # TODO 5: post-norm normalises the sum
        raise NotImplementedError
