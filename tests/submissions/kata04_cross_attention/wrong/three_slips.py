import torch
import torch.nn as nn


class MultiHeadCrossAttention(nn.Module):
    """Unscaled; hidden scores get -1e-9; values come out of the key's layer."""

    def __init__(self, d_model, num_heads):
        super().__init__()
        assert d_model % num_heads == 0
        self.num_heads = num_heads
        self.get_queries = nn.Linear(d_model, d_model)
        self.get_keys = nn.Linear(d_model, d_model)
        self.get_values = nn.Linear(d_model, d_model)
        self.unify = nn.Linear(d_model, d_model)

    def forward(self, x, memory, pad_mask=None):
        b, t, e = x.shape
        s, h = memory.shape[1], self.num_heads
        q = self.get_queries(x).view(b, t, h, e // h).transpose(1, 2)
        k = self.get_keys(memory).view(b, s, h, e // h).transpose(1, 2)
        v = self.get_keys(memory).view(b, s, h, e // h).transpose(1, 2)
        dot = q @ k.transpose(2, 3)
        if pad_mask is not None:
            dot = dot.masked_fill(~pad_mask[:, None, None, :], -1e-9)
        out = dot.softmax(dim=-1) @ v
        return self.unify(out.transpose(1, 2).reshape(b, t, e))
