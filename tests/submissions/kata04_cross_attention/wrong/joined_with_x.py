"""Not a known bug: x is joined to the memory, so queries see each other too."""
import torch
import torch.nn as nn


class MultiHeadCrossAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        assert d_model % num_heads == 0
        self.heads = num_heads
        self.to_q = nn.Linear(d_model, d_model)
        self.to_k = nn.Linear(d_model, d_model)
        self.to_v = nn.Linear(d_model, d_model)
        self.to_out = nn.Linear(d_model, d_model)

    def forward(self, x, memory, pad_mask=None):
        both = torch.cat((memory, x), dim=1)
        q, k, v = self.to_q(x), self.to_k(both), self.to_v(both)
        q, k, v = (t.unflatten(-1, (self.heads, -1)).transpose(1, 2) for t in (q, k, v))
        sim = q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5
        if pad_mask is not None:
            visible = torch.cat((pad_mask, pad_mask.new_ones(x.shape[:2])), dim=1)
            sim = sim.masked_fill(~visible[:, None, None], -torch.finfo(sim.dtype).max)
        return self.to_out((sim.softmax(-1) @ v).transpose(1, 2).flatten(2))
