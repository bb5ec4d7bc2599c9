import torch
from torch import nn


def scaled_dot_product_attention(q, k, v, mask=None):
    q *= q.size(-1) ** -0.5
    sim = q @ k.transpose(-1, -2)
    if mask is not None:
        sim.masked_fill_(~mask, -torch.finfo(sim.dtype).max)
    attn = sim.softmax(dim=-1)
    return attn @ v, attn


class SingleHeadAttention(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.to_q = nn.Linear(d_model, d_model, bias=False)
        self.to_kv = nn.Linear(d_model, d_model * 2, bias=False)
        self.to_out = nn.Linear(d_model, d_model)

    def forward(self, x, causal_mask=None, pad_mask=None):
        q, (k, v) = self.to_q(x), self.to_kv(x).chunk(2, dim=-1)
        masks = []
        if causal_mask is not None:
            masks.append(causal_mask)
        if pad_mask is not None:
            masks.append(pad_mask.unsqueeze(-2))
        mask = None
        for m in masks:
            mask = m if mask is None else mask & m
        return self.to_out(scaled_dot_product_attention(q, k, v, mask)[0])
