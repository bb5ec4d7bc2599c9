"""A key is taken for visible if either mask allows it."""
import torch
import torch.nn as nn


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        assert d_model % num_heads == 0
        self.h = num_heads
        self.wq = nn.Linear(d_model, d_model)
        self.wk = nn.Linear(d_model, d_model)
        self.wv = nn.Linear(d_model, d_model)
        self.wo = nn.Linear(d_model, d_model)

    def forward(self, x, causal_mask=None, pad_mask=None):
        B, L, D = x.shape
        q, k, v = (w(x).view(B, L, self.h, D // self.h).transpose(1, 2) for w in (self.wq, self.wk, self.wv))
        s = torch.matmul(q, k.transpose(2, 3)) * (D // self.h) ** -0.5
        mask = None
        if causal_mask is not None:
            mask = causal_mask[None, None]
        if pad_mask is not None:
            p = pad_mask[:, None, None]
            mask = p if mask is None else mask | p
        if mask is not None:
            s = s.masked_fill(~mask, float("-inf"))
        y = torch.matmul(s.softmax(-1), v).transpose(1, 2).reshape(B, L, D)
        return self.wo(y)
