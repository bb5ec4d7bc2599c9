from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn


class Attended(NamedTuple):
    output: Tensor
    weights: Tensor


def scaled_dot_product_attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Attended:
    scores = (q.unsqueeze(-2) * k.unsqueeze(-3)).sum(dim=-1) / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.where(mask, -math.inf)
    weights = scores.softmax(dim=-1)
    return Attended(output=(weights.unsqueeze(-1) * v.unsqueeze(-3)).sum(dim=-2), weights=weights)


class SingleHeadAttention(nn.Module):
    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.qkv = nn.ModuleDict({name: nn.Linear(d_model, d_model) for name in ("query", "key", "value")})
        self.out = nn.Linear(d_model, d_model)

    def forward(self, x: Tensor, causal_mask: Tensor | None = None, pad_mask: Tensor | None = None) -> Tensor:
        masks = [m for m in (causal_mask, None if pad_mask is None else pad_mask[:, None]) if m is not None]
        visible = None
        for m in masks:
            visible = m if visible is None else visible & m
        attended = scaled_dot_product_attention(
            self.qkv["query"](x), self.qkv["key"](x), self.qkv["value"](x), visible
        )
        return self.out(attended.output)
