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
        # Step 1: refuse a d_model that the heads cannot share equally
        if d_model % num_heads != 0:
            raise ValueError(f"d_model={d_model} is not divisible by num_heads={num_heads}")
        # Step 2: remember the number of heads H and the size d of each
        self.num_heads = num_heads
        self.head_dim = d_model // num_heads
        # Step 3: four projections, each Linear(D, D): query, key, value, output
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def forward(self, x: Tensor, memory: Tensor, pad_mask: Tensor | None = None) -> Tensor:
        """Attend from every token of x to every real token of the memory.

        Args:
            x: (B, L, D), the sequence that asks
            memory: (B, S, D), the sequence that is asked
            pad_mask: (B, S) bool, True at real tokens of the memory, or None

        Returns:
            (B, L, D)
        """
        batch, length, d_model = x.shape
        memory_length = memory.shape[1]
        # Step 1: project x to queries, and the memory to keys and values
        q = self.q_proj(x)  # (B, L, D)
        k = self.k_proj(memory)  # (B, S, D)
        v = self.v_proj(memory)
        # Step 2: split the features into heads, and move the heads before the tokens
        q = q.view(batch, length, self.num_heads, self.head_dim).transpose(1, 2)  # (B, H, L, d)
        k = k.view(batch, memory_length, self.num_heads, self.head_dim).transpose(1, 2)  # S for L
        v = v.view(batch, memory_length, self.num_heads, self.head_dim).transpose(1, 2)
        # Step 3: compare every query with every key, scaled by the square root of d
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.head_dim)  # (B, H, L, S)
        # Step 4: hide the keys that are padding, for every head and every query
        if pad_mask is not None:
            scores = scores.masked_fill(~pad_mask[:, None, None, :], float("-inf"))
        # Step 5: turn scores into weights over the keys
        weights = torch.softmax(scores, dim=-1)
        # Step 6: average the values by those weights
        context = weights @ v  # (B, H, L, d)
        # Step 7: put the heads side by side again
        context = context.transpose(1, 2).reshape(batch, length, d_model)  # (B, L, D)
        # Step 8: mix the heads with the output projection
        return self.out_proj(context)
