"""kata2 · Single-head attention.

First the function that every attention rests on, then a layer around it:

    attention(q, k, v) = softmax(q kᵀ / √d) v

Every query is compared with every key; softmax over the keys turns the scores
of one query into weights that sum to one; those weights average the values.

Shapes of the function: L queries, S keys, and "..." for the leading dimensions,
which q, k and v share: none, one (batch) or two (batch and heads).

    q        (..., L, d)
    k        (..., S, d)
    v        (..., S, dv)
    mask     bool, broadcasts to (..., L, S)    True = this query may attend to that key
    output   (..., L, dv)
    weights  (..., L, S)                        every row sums to one

Shapes of the layer: B batch, L tokens, D = d_model.

    x            (B, L, D)
    causal_mask  (L, L) bool     True = this query may attend to that key
    pad_mask     (B, L) bool     True = a real token, False = padding
    output       (B, L, D)

Masks say True where attention is allowed, as in
`torch.nn.functional.scaled_dot_product_attention`. `nn.MultiheadAttention`
means the opposite. Any mask may be None; with both, a key is visible only if
both allow it. What comes out for a query that sees no key is free, and the other
queries are none the worse for it. Outputs at padded positions are free too, but
must be finite where they see a key.

Worked by hand, for three tokens with d = dv = 2:

    q = [[1, 0], [0, 1], [1, 1]]
    k = [[1, 0], [0, 2], [1, 1]]
    v = [[1, 2], [3, 4], [5, 0]]

    scores  = [[0.7071, 0.0000, 0.7071], [0.0000, 1.4142, 0.7071], [0.7071, 1.4142, 1.4142]]
    weights = [[0.4011, 0.1978, 0.4011], [0.1400, 0.5760, 0.2840], [0.1978, 0.4011, 0.4011]]
    output  = [[3.0000, 1.5933], [3.2879, 2.5840], [3.4067, 2.0000]]

The first query has the products 1, 0, 1 with the keys; over √2 that is 0.7071,
0, 0.7071, and softmax gives 2.0281 / 5.0562, 1 / 5.0562, 2.0281 / 5.0562.

Dtype and device follow the input, the input is never changed in place, and
gradients flow through both results of the function and through the layer.
Whether the layer calls the function is up to you. Half precision is tried too,
but only noted. Free: a bias in the projections, and in the layer dropout on the
weights or the output.
Not allowed: `F.scaled_dot_product_attention`, `nn.MultiheadAttention`.
"""

import math

import torch
from torch import Tensor, nn


def scaled_dot_product_attention(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Average the values by how well each query matches each key.

    Args:
        q: (..., L, d)
        k: (..., S, d)
        v: (..., S, dv)
        mask: bool, broadcasts to (..., L, S), True where the query may attend, or None

    Returns:
        output (..., L, dv) and weights (..., L, S), in this order
    """
    # Step 1: compare every query with every key
    scores = q @ k.transpose(-2, -1)  # (..., L, S)
    # Step 2: scale by the square root of d, so that the scores keep a variance of about one
    scores = scores / math.sqrt(q.shape[-1])
    # Step 3: hide the keys that the mask forbids
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    # Step 4: turn the scores of each query into weights over the keys
    weights = torch.softmax(scores, dim=-1)
    # Step 5: average the values by those weights
    output = weights @ v  # (..., L, dv)
    return output, weights


class SingleHeadAttention(nn.Module):
    """Self-attention with one head.

    Args:
        d_model: size D of each token.
    """

    def __init__(self, d_model: int) -> None:
        super().__init__()
        # Step 1: four projections, each Linear(D, D): query, key, value, output
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def forward(
        self,
        x: Tensor,
        causal_mask: Tensor | None = None,
        pad_mask: Tensor | None = None,
    ) -> Tensor:
        """Attend from every token to every visible token.

        Args:
            x: (B, L, D)
            causal_mask: (L, L) bool, True where the query may attend, or None
            pad_mask: (B, L) bool, True at real tokens, or None

        Returns:
            (B, L, D)
        """
        # Step 1: project x to queries, keys and values
        q = self.q_proj(x)  # (B, L, D)
        k = self.k_proj(x)
        v = self.v_proj(x)
        # Step 2: join the masks: a key is visible only if both allow it
        visible = causal_mask  # (L, L), or None
        if pad_mask is not None:
            keys = pad_mask[:, None, :]  # (B, 1, L), the same for every query
            visible = keys if visible is None else visible & keys  # (B, L, L)
        # Step 3: attend
        context, _ = scaled_dot_product_attention(q, k, v, visible)  # (B, L, D)
        # Step 4: mix the features with the output projection
        return self.out_proj(context)
