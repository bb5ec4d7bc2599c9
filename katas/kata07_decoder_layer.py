"""kata7 · Decoder layer.

Write the mask that hides the future, and a decoder layer of the original
Transformer: attention within the sequence, attention to the memory, and a
feed-forward network. Each of the three is dropped out (as nn.Dropout does it),
added to what it started from, and only then normalised (post-norm).

Shapes: B batch, L tokens, S memory tokens, D = d_model, F = d_ff.

    x                (B, L, D)        what the decoder has so far
    memory           (B, S, D)        what the encoder returned; L and S may differ
    causal_mask      (L, L) bool      True = this query may attend to that key
    pad_mask         (B, L) bool      True = a real token of x, False = padding
    memory_pad_mask  (B, S) bool      True = a real token of the memory
    output           (B, L, D)

    causal_mask(3)   [[True, False, False],
                      [True, True,  False],
                      [True, True,  True ]]

Masks say True where attention is allowed; `nn.Transformer` means the opposite.
Each of them may be None. The layer hides the future only where it is handed a
causal mask: it never makes one of its own. What comes out for a query that sees
no key is free, and the other queries are none the worse for it. Outputs at padded
positions of x are free too, but must be finite where they see a key.

Both attentions are given. Their projections, and how they use masks, are not
in question here:

    MultiHeadSelfAttention(d_model, num_heads)(x, causal_mask=None, pad_mask=None)
    MultiHeadCrossAttention(d_model, num_heads)(x, memory, pad_mask=None)

The network is Linear(D, F), ReLU, Linear(F, D); the norms are nn.LayerNorm(D),
one for each sublayer, with gain and shift. The eps of the norms (from 1e-12 to 1e-5),
biases of the linear layers, and further dropout, on the attention weights or before
the last linear layer of the network, are up to you. Dtype and device follow the
input, the inputs are never changed in place, and gradients reach all of them and
all weights.
Half precision is tried too, but only noted.
Not allowed: `nn.TransformerDecoderLayer` and the other `nn.Transformer*` modules.
"""

import torch
from torch import Tensor, nn

from grader.given import MultiHeadCrossAttention, MultiHeadSelfAttention


def causal_mask(length: int, device: torch.device | None = None) -> Tensor:
    """Return the mask that lets a token attend to itself and to what came before it.

    Args:
        length: number of tokens L.
        device: where the mask is made; None means torch's default.

    Returns:
        (L, L) bool, True on and below the diagonal
    """
    # TODO 1: let every query see every key, on the device asked for
    # TODO 2: take away the keys that come after the query
    raise NotImplementedError


class DecoderLayer(nn.Module):
    """One post-norm decoder layer: self-attention, cross-attention, feed-forward network.

    Args:
        d_model: size D of each token; must be divisible by `num_heads`.
        num_heads: number of heads H of both attentions.
        d_ff: size F of the hidden layer of the network.
        dropout: share of each sublayer's output that is dropped in training, below 1.
    """

    def __init__(self, d_model: int, num_heads: int, d_ff: int, dropout: float = 0.1) -> None:
        super().__init__()
        # TODO 1: two attentions, one for the sequence itself and one for the memory
        # TODO 2: the two layers of the network, Linear(D, F) and Linear(F, D)
        # TODO 3: a LayerNorm for each of the three sublayers
        # TODO 4: dropout; it has no weights, so one serves all sublayers
        raise NotImplementedError

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        causal_mask: Tensor | None = None,
        pad_mask: Tensor | None = None,
        memory_pad_mask: Tensor | None = None,
    ) -> Tensor:
        """Let each token read its own past, then the memory, then think it over.

        Args:
            x: (B, L, D)
            memory: (B, S, D)
            causal_mask: (L, L) bool, True where the query may attend, or None
            pad_mask: (B, L) bool, True at real tokens of x, or None
            memory_pad_mask: (B, S) bool, True at real tokens of the memory, or None

        Returns:
            (B, L, D)
        """
        # TODO 1: attend within x, hiding the future and the padding of x
        # TODO 2: drop, add what the sublayer started from, normalise
        # TODO 3: let the result ask the memory, hiding the padding of the memory
        # TODO 4: drop, add, normalise
        # TODO 5: run the network on each token
        # TODO 6: drop, add, normalise
        raise NotImplementedError
