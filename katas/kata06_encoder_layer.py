"""kata6 · Encoder layer.

Build one layer of a Transformer encoder: self-attention, then a feed-forward
network, each followed by dropout, a residual connection and a layer norm.
The layer is *post-norm*, as in "Attention Is All You Need": the norm comes
last, over the sum.

    x = norm1(x + dropout(self_attention(x)))
    x = norm2(x + dropout(feed_forward(x)))

Shapes: B batch, L tokens, D = d_model, H = num_heads, F = d_ff.

    x         (B, L, D)
    pad_mask  (B, L) bool     True = a real token, False = padding
    output    (B, L, D)

The mask says True at real tokens, as in
`torch.nn.functional.scaled_dot_product_attention`. `nn.MultiheadAttention` and
`nn.TransformerEncoderLayer` mean the opposite. It may be None, and
shows at least one token of each sequence. Outputs at padded positions are free,
but must be finite.

The attention is given: `MultiHeadSelfAttention(d_model, num_heads)`, called
with `(x, causal_mask=None, pad_mask=None)`, returns one tensor (B, L, D).
The feed-forward network is Linear(D, F), ReLU, Linear(F, D), for each token on
its own. The norms are layer norms over the D features, each with a gain and a
shift of its own; their eps is free, from 1e-12 to 1e-5.

Dropout does what nn.Dropout does: in train mode only, each value by itself, and
what is kept is divided by 1 - p. Further dropout, on the attention weights or
before the last linear layer of the feed-forward network, is free, and so are the
names of the layers and the biases of the linear ones. Dtype and device follow the
input, which is never changed in place, and gradients reach it and all weights.
Half precision is tried too, but only noted.
Not allowed: `nn.TransformerEncoderLayer` and its relatives.

Worked example, for one token and D = 2: x = [1, 0], and attention adds [2, 1].
The sum [3, 1] has mean 2 and deviation 1, so norm1 with gain 1 and shift 0
gives [1, -1]. That, not x, goes on into the feed-forward network *and* into the
second sum.
"""

import torch
from torch import Tensor, nn

from grader.given import MultiHeadSelfAttention


class EncoderLayer(nn.Module):
    """One post-norm encoder layer.

    Args:
        d_model: size D of each token; must be divisible by `num_heads`.
        num_heads: number of attention heads H.
        d_ff: width F of the feed-forward network.
        dropout: share of each sublayer's output that is dropped in train mode, below 1.
    """

    def __init__(self, d_model: int, num_heads: int, d_ff: int, dropout: float = 0.1) -> None:
        super().__init__()
        # TODO 1: the first sublayer, the given self-attention
        # TODO 2: the second sublayer, two linear layers: D to F, and F back to D
        # TODO 3: a layer norm after each sublayer
        # TODO 4: dropout; it has no parameters, so both sublayers can share it
        raise NotImplementedError

    def forward(self, x: Tensor, pad_mask: Tensor | None = None) -> Tensor:
        """Let the tokens look at each other, then work on each of them.

        Args:
            x: (B, L, D)
            pad_mask: (B, L) bool, True at real tokens, or None

        Returns:
            (B, L, D)
        """
        # TODO 1: let every token attend to the real tokens
        # TODO 2: drop a share of what the attention found
        # TODO 3: add it to the layer's input, and normalise the sum
        # TODO 4: widen each token to F features
        # TODO 5: keep the positive ones
        # TODO 6: come back to D features
        # TODO 7: drop a share of that too
        # TODO 8: add it to what went into the feed-forward network, and normalise the sum
        raise NotImplementedError
