import torch
import torch.nn as nn


def attend(q, k, v, mask):
    s = q @ k.transpose(-2, -1) / q.size(-1) ** 0.5
    if mask is not None:
        s = s.masked_fill(~mask, float("-inf"))
    return s.softmax(-1) @ v


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        assert d_model % num_heads == 0
        self.num_heads = num_heads
        self.to_q = nn.Linear(d_model, d_model)
        self.to_k = nn.Linear(d_model, d_model)
        self.to_v = nn.Linear(d_model, d_model)
        self.to_out = nn.Linear(d_model, d_model)

    def forward(self, x, causal_mask=None, pad_mask=None):
        B, L, D = x.shape
        mask = None
        if causal_mask is not None:
            mask = causal_mask.view(1, 1, L, L)
        if pad_mask is not None:
            rows = pad_mask.view(B, 1, L, 1)
            mask = rows if mask is None else mask & rows
        q, k, v = (f(x).view(B, L, self.num_heads, -1).transpose(1, 2) for f in (self.to_q, self.to_k, self.to_v))
        return self.to_out(attend(q, k, v, mask).transpose(1, 2).reshape(B, L, D))
