import torch
from torch import nn, einsum


def exists(val):
    return val is not None


class MultiHeadCrossAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        if d_model % num_heads:
            raise ValueError("dim must be divisible by heads")
        self.heads = num_heads
        self.scale = (d_model // num_heads) ** -0.5
        self.to_q = nn.Linear(d_model, d_model, bias=False)
        self.to_kv = nn.Linear(d_model, d_model * 2, bias=False)
        self.to_out = nn.Linear(d_model, d_model)

    def forward(self, x, memory, pad_mask=None):
        h = self.heads
        q = self.to_q(x)
        k, v = self.to_kv(memory).chunk(2, dim=-1)
        # b n (h d) -> (b h) n d
        q, k, v = (t.unflatten(-1, (h, -1)).transpose(1, 2).flatten(0, 1) for t in (q, k, v))
        sim = einsum("b i d, b j d -> b i j", q, k) * self.scale
        if exists(pad_mask):
            mask = pad_mask.repeat_interleave(h, dim=0)[:, None, :]
            sim = sim.masked_fill(~mask, -torch.finfo(sim.dtype).max)
        attn = sim.softmax(dim=-1)
        out = einsum("b i j, b j d -> b i d", attn, v)
        out = out.unflatten(0, (-1, h)).transpose(1, 2).flatten(2)
        return self.to_out(out)
