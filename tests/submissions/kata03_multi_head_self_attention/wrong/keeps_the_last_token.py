import math

import torch
from torch import nn


class MultiHeadSelfAttention(nn.Module):
    """As in generation: one token comes in, and finds the earlier ones in the cache."""

    def __init__(self, d_model, num_heads):
        super().__init__()
        assert d_model % num_heads == 0
        self.num_heads = num_heads
        self.qkv = nn.Linear(d_model, 3 * d_model)
        self.proj = nn.Linear(d_model, d_model)
        self.past = None

    def forward(self, x, causal_mask=None, pad_mask=None):
        B, L, D = x.shape
        qkv = self.qkv(x).view(B, L, 3, self.num_heads, D // self.num_heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        if L == 1 and not self.training:
            if self.past is not None and self.past[0].size(0) == B:
                k = torch.cat((self.past[0], k), dim=2)
                v = torch.cat((self.past[1], v), dim=2)
            self.past = (k.detach(), v.detach())
        scores = q @ k.transpose(-1, -2) / math.sqrt(D // self.num_heads)
        if causal_mask is not None:
            scores = scores.masked_fill(~causal_mask, float("-inf"))
        if pad_mask is not None:
            scores = scores.masked_fill(~pad_mask[:, None, None], float("-inf"))
        y = scores.softmax(-1) @ v
        return self.proj(y.transpose(1, 2).reshape(B, L, D))
