from __future__ import annotations

import torch
from torch import nn, Tensor, einsum


class MultiHeadSelfAttention(nn.Module):
    """Names as in the paper: W_Q, W_K, W_V, W_O."""

    def __init__(self, d_model: int, num_heads: int) -> None:
        super().__init__()
        if d_model % num_heads:
            raise ValueError("heads do not fit")
        self.H, self.D_h = num_heads, d_model // num_heads
        self.W_Q = nn.Linear(d_model, d_model)
        self.W_K = nn.Linear(d_model, d_model)
        self.W_V = nn.Linear(d_model, d_model)
        self.W_O = nn.Linear(d_model, d_model)

    def _visible(self, causal: Tensor | None, pad: Tensor | None) -> Tensor | None:
        if causal is None and pad is None:
            return None
        if causal is None:
            return pad[:, None, None, :]
        if pad is None:
            return causal[None, None]
        return torch.logical_and(causal[None, None], pad[:, None, None, :])

    def forward(self, x: Tensor, causal_mask: Tensor | None = None, pad_mask: Tensor | None = None) -> Tensor:
        Q, K, V = (W(x).unflatten(-1, (self.H, self.D_h)) for W in (self.W_Q, self.W_K, self.W_V))
        S = einsum("bihd,bjhd->bhij", Q, K) * self.D_h ** -0.5
        visible = self._visible(causal_mask, pad_mask)
        if visible is not None:
            S = S.masked_fill(~visible, -torch.inf)
        P = S.softmax(-1)
        O = einsum("bhij,bjhd->bihd", P, V).flatten(2)
        return self.W_O(O)
