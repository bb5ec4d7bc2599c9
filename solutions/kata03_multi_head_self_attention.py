"""kata3 · Multi-head self-attention.

Split the model dimension over H heads, let each head attend on its own, and
mix the heads again with a last projection.

Shapes: B batch, L tokens, D = d_model, H = num_heads, d = D / H.

    x            (B, L, D)
    causal_mask  (L, L) bool     True = this query may attend to that key
    pad_mask     (B, L) bool     True = a real token, False = padding
    output       (B, L, D)

Masks say True where attention is allowed, as in
`torch.nn.functional.scaled_dot_product_attention`. `nn.MultiheadAttention`
means the opposite. Either mask may be None; with both, a key is visible only
if both allow it. What comes out for a query that sees no key is free, and the
other queries are none the worse for it. Outputs at padded positions are free too,
but must be finite where they see a key.

Example: with x (2, 5, 12) and 3 heads, q, k and v are (2, 3, 5, 4) once split,
the scores are (2, 3, 5, 5), and each of their rows is divided by sqrt(4).

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


class MultiHeadSelfAttention(nn.Module):
    """Self-attention with several heads.

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
        batch, length, d_model = x.shape
        # Step 1: project x to queries, keys and values
        q = self.q_proj(x)  # (B, L, D)
        k = self.k_proj(x)
        v = self.v_proj(x)
        # Step 2: split the features into heads, and move the heads before the tokens
        q = q.view(batch, length, self.num_heads, self.head_dim).transpose(1, 2)  # (B, H, L, d)
        k = k.view(batch, length, self.num_heads, self.head_dim).transpose(1, 2)
        v = v.view(batch, length, self.num_heads, self.head_dim).transpose(1, 2)
        # Step 3: compare every query with every key, scaled by the square root of d
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.head_dim)  # (B, H, L, L)
        # Step 4: hide the keys that the causal mask forbids
        if causal_mask is not None:
            scores = scores.masked_fill(~causal_mask, float("-inf"))
        # Step 5: hide the keys that are padding, for every head and every query
        if pad_mask is not None:
            scores = scores.masked_fill(~pad_mask[:, None, None, :], float("-inf"))
        # Step 6: turn scores into weights over the keys
        weights = torch.softmax(scores, dim=-1)
        # Step 7: average the values by those weights
        context = weights @ v  # (B, H, L, d)
        # Step 8: put the heads side by side again
        context = context.transpose(1, 2).reshape(batch, length, d_model)  # (B, L, D)
        # Step 9: mix the heads with the output projection
        return self.out_proj(context)
