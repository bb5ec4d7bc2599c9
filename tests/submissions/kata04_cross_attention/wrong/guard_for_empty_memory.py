import math

import torch
from torch import nn


class MultiHeadCrossAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        if d_model % num_heads:
            raise ValueError("uneven heads")
        self.num_heads = num_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.kv_proj = nn.Linear(d_model, 2 * d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def split(self, t):
        return t.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)

    def forward(self, x, memory, pad_mask=None):
        q = self.split(self.q_proj(x))
        k, v = (self.split(t) for t in self.kv_proj(memory).chunk(2, dim=-1))
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
        if pad_mask is not None and pad_mask.any(dim=1).all():  # else everything is nan
            scores = scores.masked_fill(~pad_mask[:, None, None, :], float("-inf"))
        out = scores.softmax(dim=-1) @ v
        return self.out_proj(out.transpose(1, 2).flatten(2))
