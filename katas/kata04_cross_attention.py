"""kata4 · Multi-head cross-attention.

The tokens of one sequence, x, ask; the tokens of another, the memory, answer.
Queries come from x, keys and values from the memory, and the two sequences
have lengths of their own. Otherwise everything is as in kata3.

Shapes: B batch, L tokens of x, S tokens of the memory, D = d_model,
H = num_heads, d = D / H. Expect L ≠ S.

    x         (B, L, D)
    memory    (B, S, D)
    pad_mask  (B, S) bool     over the memory: True = a real token, False = padding
    output    (B, L, D)

The mask says True where attention is allowed, as in
`torch.nn.functional.scaled_dot_product_attention`. `nn.MultiheadAttention`
means the opposite. It may be None. What comes out for a query that sees no key
is free, and the other queries are none the worse for it. There is no causal mask:
the memory is there as a whole before the first query is asked.

Example: with x (2, 5, 12), memory (2, 7, 12) and 3 heads, the scores are
(2, 3, 5, 7), one row of 7 weights for each of the 5 queries of each head.

Head h owns the features [h * d, (h + 1) * d) of q, k and v, and of what goes into
the last projection. Dtype and device follow the input, no input is ever changed
in place, and gradients reach all inputs and weights. Free: whether the projections
have a bias, and dropout on the weights or the output. Half precision is tried too,
but only noted.
Not allowed: `F.scaled_dot_product_attention`, `nn.MultiheadAttention`.
"""

import math

import torch
from torch import Tensor, nn


class MultiHeadCrossAttention(nn.Module):
    """Attention with several heads from one sequence to another.

    Args:
        d_model: size D of each token; must be divisible by `num_heads`.
        num_heads: number of heads H.

    Raises:
        ValueError: or any other exception, here or in forward, if `d_model` is not
            divisible by `num_heads`.
    """

    def __init__(self, d_model: int, num_heads: int) -> None:
        super().__init__()
        # TODO 1: refuse a d_model that the heads cannot share equally
        # TODO 2: remember the number of heads H and the size d of each
        # TODO 3: four projections, each Linear(D, D): query, key, value, output
        raise NotImplementedError

    def forward(self, x: Tensor, memory: Tensor, pad_mask: Tensor | None = None) -> Tensor:
        """Attend from every token of x to every real token of the memory.

        Args:
            x: (B, L, D), the sequence that asks
            memory: (B, S, D), the sequence that is asked
            pad_mask: (B, S) bool, True at real tokens of the memory, or None

        Returns:
            (B, L, D)
        """
        # TODO 1: project x to queries, and the memory to keys and values
        # TODO 2: split the features into heads, and move the heads before the tokens
        # TODO 3: compare every query with every key, scaled by the square root of d
        # TODO 4: hide the keys that are padding, for every head and every query
        # TODO 5: turn scores into weights over the keys
        # TODO 6: average the values by those weights
        # TODO 7: put the heads side by side again
        # TODO 8: mix the heads with the output projection
        raise NotImplementedError
