"""Post-norm; the norm copied from a well-known tutorial."""
import torch
from torch import nn

from grader.given import MultiHeadCrossAttention, MultiHeadSelfAttention


class LayerNorm(nn.Module):
    def __init__(self, features, eps=1e-6):
        super().__init__()
        self.a_2 = nn.Parameter(torch.ones(features))
        self.b_2 = nn.Parameter(torch.zeros(features))
        self.eps = eps

    def forward(self, x):
        mean = x.mean(-1, keepdim=True)
        std = x.std(-1, keepdim=True)
        return self.a_2 * (x - mean) / (std + self.eps) + self.b_2


class SublayerConnection(nn.Module):
    def __init__(self, size, dropout):
        super().__init__()
        self.norm = LayerNorm(size)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, sublayer):
        return self.norm(x + self.dropout(sublayer(x)))


class DecoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__()
        self.self_attn = MultiHeadSelfAttention(d_model, num_heads)
        self.src_attn = MultiHeadCrossAttention(d_model, num_heads)
        self.feed_forward = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))
        self.sublayer = nn.ModuleList([SublayerConnection(d_model, dropout) for _ in range(3)])

    def forward(self, x, memory, causal_mask=None, pad_mask=None, memory_pad_mask=None):
        x = self.sublayer[0](x, lambda x: self.self_attn(x, causal_mask, pad_mask))
        x = self.sublayer[1](x, lambda x: self.src_attn(x, memory, memory_pad_mask))
        return self.sublayer[2](x, self.feed_forward)


def causal_mask(length, device=None):
    return torch.triu(torch.ones(length, length, device=device), diagonal=1).type(torch.uint8) == 0
