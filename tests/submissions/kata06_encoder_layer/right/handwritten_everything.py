"""Dropout, linear layers and norm by hand; and an attention of its own."""

import torch
from torch import nn


class Drop(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        if not self.training or self.p == 0:
            return x
        keep = (torch.rand(x.shape, device=x.device) > self.p).to(x.dtype)
        return x * keep / (1 - self.p)


class Norm(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(n))
        self.bias = nn.Parameter(torch.zeros(n))

    def forward(self, x):
        x = x - x.mean(dim=2, keepdim=True)
        x = x * torch.rsqrt((x * x).mean(dim=2, keepdim=True) + 1e-8)
        return x * self.gain + self.bias


class Attention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.h = num_heads
        self.qkv = nn.Linear(d_model, 3 * d_model)
        self.proj = nn.Linear(d_model, d_model)

    def forward(self, x, mask):
        b, n, c = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.h, c // self.h).permute(2, 0, 3, 1, 4)
        s = torch.einsum("bhid,bhjd->bhij", q, k) * (c // self.h) ** -0.5
        if mask is not None:
            s = s.masked_fill(mask[:, None, None] == 0, -1e9)
        y = torch.einsum("bhij,bhjd->bihd", s.softmax(-1), v)
        return self.proj(y.reshape(b, n, c))


class EncoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__()
        self.attention = Attention(d_model, num_heads)
        self.up = nn.Linear(d_model, d_ff)
        self.down = nn.Linear(d_ff, d_model)
        self.norm_attention = Norm(d_model)
        self.norm_ffn = Norm(d_model)
        self.drop = Drop(dropout)

    def forward(self, x, pad_mask=None):
        x = self.norm_attention(x + self.drop(self.attention(x, pad_mask)))
        return self.norm_ffn(x + self.drop(self.down(torch.maximum(self.up(x), torch.zeros_like(x[..., :1])))))
