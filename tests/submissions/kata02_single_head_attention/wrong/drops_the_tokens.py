import math

import torch
from torch import nn


def scaled_dot_product_attention(q, k, v, mask=None):
    s = q @ k.mT / math.sqrt(q.size(-1))
    if mask is not None:
        s = s.masked_fill(~mask, -1e9)
    w = s.softmax(-1)
    return w @ v, w


class SingleHeadAttention(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.out_proj = nn.Linear(d_model, d_model)
        self.drop = nn.Dropout(0.1)

    def forward(self, x, causal_mask=None, pad_mask=None):
        mask = causal_mask
        if pad_mask is not None:
            mask = pad_mask[:, None, :] if mask is None else mask & pad_mask[:, None, :]
        x = self.drop(x)
        y, _ = scaled_dot_product_attention(self.q_proj(x), self.k_proj(x), self.v_proj(x), mask)
        return self.out_proj(y)
