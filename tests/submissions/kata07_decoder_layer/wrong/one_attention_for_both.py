import math
import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, d_model, h):
        super().__init__()
        self.h, self.d_k = h, d_model // h
        self.q_linear = nn.Linear(d_model, d_model)
        self.k_linear = nn.Linear(d_model, d_model)
        self.v_linear = nn.Linear(d_model, d_model)
        self.out = nn.Linear(d_model, d_model)

    def forward(self, q, k, v, mask=None):
        bs = q.size(0)
        q = self.q_linear(q).view(bs, -1, self.h, self.d_k).transpose(1, 2)
        k = self.k_linear(k).view(bs, -1, self.h, self.d_k).transpose(1, 2)
        v = self.v_linear(v).view(bs, -1, self.h, self.d_k).transpose(1, 2)
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.d_k)
        if mask is not None:
            scores = scores.masked_fill(mask == 0, -1e9)
        z = scores.softmax(-1) @ v
        return self.out(z.transpose(1, 2).reshape(bs, -1, self.h * self.d_k))


class DecoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__()
        self.attn = Attention(d_model, num_heads)
        self.ff = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))
        self.norm_1, self.norm_2, self.norm_3 = nn.LayerNorm(d_model), nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, memory, causal_mask=None, pad_mask=None, memory_pad_mask=None):
        mask = None if causal_mask is None else causal_mask[None, None]
        if pad_mask is not None:
            p = pad_mask[:, None, None, :]
            mask = p if mask is None else mask & p
        mem = None if memory_pad_mask is None else memory_pad_mask[:, None, None, :]
        x = self.norm_1(x + self.dropout(self.attn(x, x, x, mask)))
        x = self.norm_2(x + self.dropout(self.attn(x, memory, memory, mem)))
        return self.norm_3(x + self.dropout(self.ff(x)))


def causal_mask(length, device=None):
    return torch.ones(length, length, device=device).tril().bool()
