"""Softmax over the wrong axis, einsum style."""
from torch import nn
import torch


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, d_model: int, num_heads: int):
        super().__init__()
        assert d_model % num_heads == 0
        self.nh = num_heads
        self.get_queries = nn.Linear(d_model, d_model)
        self.get_keys = nn.Linear(d_model, d_model)
        self.get_values = nn.Linear(d_model, d_model)
        self.unify = nn.Linear(d_model, d_model)
        self.normalise = nn.Softmax(dim=2)

    def forward(self, x, causal_mask=None, pad_mask=None):
        k = self.get_keys(x).unflatten(2, (self.nh, -1))
        q = self.get_queries(x).unflatten(2, (self.nh, -1))
        v = self.get_values(x).unflatten(2, (self.nh, -1))
        e = torch.einsum("bqhd,bkhd->bhqk", q, k) / q.shape[-1] ** 0.5
        if causal_mask is not None:
            e = e + torch.where(causal_mask, 0.0, -torch.inf)
        if pad_mask is not None:
            e = e + torch.where(pad_mask, 0.0, -torch.inf)[:, None, None]
        w = self.normalise(e)
        return self.unify(torch.einsum("bhqk,bkhd->bqhd", w, v).flatten(2))
