import math

import torch
from torch import nn


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.1):
        super().__init__()
        assert d_model % num_heads == 0
        self.num_heads = num_heads
        self.c_attn = nn.Linear(d_model, 3 * d_model)
        self.c_proj = nn.Linear(d_model, d_model)
        self.attn_dropout = nn.Dropout(dropout)
        self.resid_dropout = nn.Dropout(dropout)  # belongs to the block around it

    def forward(self, x, causal_mask=None, pad_mask=None):
        B, L, D = x.shape
        q, k, v = (
            t.view(B, L, self.num_heads, -1).transpose(1, 2) for t in self.c_attn(x).split(D, 2)
        )
        att = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
        if causal_mask is not None:
            att = att.masked_fill(~causal_mask, -1e9)
        if pad_mask is not None:
            att = att.masked_fill(~pad_mask[:, None, None, :], -1e9)
        y = self.attn_dropout(att.softmax(-1)) @ v
        return self.resid_dropout(self.c_proj(y.transpose(1, 2).reshape(B, L, D)))
