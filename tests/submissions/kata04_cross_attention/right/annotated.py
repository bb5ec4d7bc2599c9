import copy
import math

import torch
import torch.nn as nn


def attention(query, key, value, mask=None):
    "Compute 'Scaled Dot Product Attention'"
    scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(query.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    p_attn = torch.softmax(scores, dim=-1)
    return torch.matmul(p_attn, value), p_attn


class MultiHeadCrossAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        assert d_model % num_heads == 0
        self.d_k = d_model // num_heads
        self.h = num_heads
        self.linears = nn.ModuleList([copy.deepcopy(nn.Linear(d_model, d_model)) for _ in range(4)])

    def forward(self, x, memory, pad_mask=None):
        if pad_mask is not None:
            # same mask applied to all h heads and all queries
            pad_mask = pad_mask.unsqueeze(1).unsqueeze(-2)
        n = x.size(0)
        q, k, v = [
            lin(t).view(n, -1, self.h, self.d_k).transpose(1, 2)
            for lin, t in zip(self.linears, (x, memory, memory))
        ]
        out, _ = attention(q, k, v, mask=pad_mask)
        out = out.transpose(1, 2).contiguous().view(n, -1, self.h * self.d_k)
        return self.linears[-1](out)
