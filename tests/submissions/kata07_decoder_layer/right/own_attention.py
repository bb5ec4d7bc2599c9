# writes its own attention, fused projections, einsum; zeroes padded rows at the end
from __future__ import annotations

import math

import torch
from torch import Tensor, nn


def causal_mask(length: int, device: torch.device | str | None = None) -> Tensor:
    return ~torch.triu(torch.ones(length, length, dtype=torch.bool, device=device), diagonal=1)


def attend(q: Tensor, k: Tensor, v: Tensor, visible: Tensor | None) -> Tensor:
    logits = torch.einsum("bihd,bjhd->bhij", q / math.sqrt(q.size(-1)), k)
    if visible is not None:
        logits = torch.where(visible, logits, torch.finfo(logits.dtype).min)
    return torch.einsum("bhij,bjhd->bihd", logits.softmax(-1), v).flatten(-2)


class SelfAttention(nn.Module):
    def __init__(self, dim: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim, bias=False)
        self.proj = nn.Linear(dim, dim)

    def forward(self, x: Tensor, visible: Tensor | None) -> Tensor:
        q, k, v = (t.unflatten(-1, (self.heads, -1)) for t in self.qkv(x).chunk(3, dim=-1))
        return self.proj(attend(q, k, v, visible))


class CrossAttention(nn.Module):
    def __init__(self, dim: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.to_q = nn.Linear(dim, dim, bias=False)
        self.to_kv = nn.Linear(dim, 2 * dim, bias=False)
        self.to_out = nn.Linear(dim, dim)

    def forward(self, x: Tensor, context: Tensor, visible: Tensor | None) -> Tensor:
        q = self.to_q(x).unflatten(-1, (self.heads, -1))
        k, v = (t.unflatten(-1, (self.heads, -1)) for t in self.to_kv(context).chunk(2, dim=-1))
        return self.to_out(attend(q, k, v, visible))


class DecoderLayer(nn.Module):
    def __init__(self, d_model: int, num_heads: int, d_ff: int, dropout: float = 0.1) -> None:
        super().__init__()
        self.attn = SelfAttention(d_model, num_heads)
        self.cross = CrossAttention(d_model, num_heads)
        self.mlp = nn.Sequential(
            nn.Linear(d_model, d_ff), nn.ReLU(), nn.Dropout(dropout), nn.Linear(d_ff, d_model)
        )
        self.norms = nn.ModuleList(nn.LayerNorm(d_model) for _ in range(3))
        self.drop = nn.Dropout(dropout)

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        causal_mask: Tensor | None = None,
        pad_mask: Tensor | None = None,
        memory_pad_mask: Tensor | None = None,
    ) -> Tensor:
        own = None
        for mask in (causal_mask, None if pad_mask is None else pad_mask[:, None, None]):
            if mask is not None:
                own = mask if own is None else own & mask
        theirs = None if memory_pad_mask is None else memory_pad_mask[:, None, None]
        x = self.norms[0](x + self.drop(self.attn(x, own)))
        x = self.norms[1](x + self.drop(self.cross(x, memory, theirs)))
        x = self.norms[2](x + self.drop(self.mlp(x)))
        return x if pad_mask is None else x * pad_mask.unsqueeze(-1)
