from typing import Optional

import torch
from torch import Tensor
from torch.nn import Linear, Module


class MultiHeadCrossAttention(Module):
    """The decoder asks the encoder."""

    def __init__(self, d_model: int, num_heads: int) -> None:
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"{d_model=} cannot be shared by {num_heads=}")
        self.num_heads = num_heads
        self.head_dim = d_model // num_heads
        self.query = Linear(d_model, d_model)
        self.key = Linear(d_model, d_model)
        self.value = Linear(d_model, d_model)
        self.output = Linear(d_model, d_model)

    def _apart(self, tokens: Tensor) -> Tensor:
        return tokens.view(*tokens.shape[:-1], self.num_heads, self.head_dim).transpose(-2, -3)

    def forward(self, x: Tensor, memory: Tensor, pad_mask: Optional[Tensor] = None) -> Tensor:
        query = self._apart(self.query(x) / self.head_dim**0.5)
        key = self._apart(self.key(memory))
        value = self._apart(self.value(memory))
        scores = query @ key.transpose(-1, -2)
        if pad_mask is not None:
            lowest = torch.full_like(scores, -torch.inf)
            scores = torch.where(pad_mask[:, None, None, :], scores, lowest)
        together = (scores.softmax(dim=-1) @ value).transpose(-2, -3).flatten(-2)
        return self.output(together)
