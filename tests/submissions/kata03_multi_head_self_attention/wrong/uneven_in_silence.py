import torch
import torch.nn as nn


class MultiHeadSelfAttention(nn.Module):
    """dim_head is rounded down and nobody is told."""

    def __init__(self, d_model, num_heads):
        super().__init__()
        self.heads = num_heads
        self.dim_head = d_model // num_heads
        inner = self.heads * self.dim_head
        self.to_q = nn.Linear(d_model, inner)
        self.to_k = nn.Linear(d_model, inner)
        self.to_v = nn.Linear(d_model, inner)
        self.to_out = nn.Linear(inner, d_model)

    def forward(self, x, causal_mask=None, pad_mask=None):
        b, n, _ = x.shape
        q, k, v = (f(x).view(b, n, self.heads, self.dim_head).transpose(1, 2) for f in (self.to_q, self.to_k, self.to_v))
        sim = torch.einsum("b h i d, b h j d -> b h i j", q, k) * self.dim_head ** -0.5
        if causal_mask is not None:
            sim = sim.masked_fill(~causal_mask, -torch.finfo(sim.dtype).max)
        if pad_mask is not None:
            sim = sim.masked_fill(~pad_mask[:, None, None, :], -torch.finfo(sim.dtype).max)
        out = torch.einsum("b h i j, b h j d -> b h i d", sim.softmax(dim=-1), v)
        return self.to_out(out.transpose(1, 2).flatten(2))
