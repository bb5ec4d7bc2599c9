from functools import lru_cache

import torch
from torch import nn

from grader.given import MultiHeadCrossAttention, MultiHeadSelfAttention


@lru_cache
def causal_mask(length, device=None):
    return torch.ones(length, length, dtype=torch.bool, device=device).tril()


class DecoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__()
        self.self_attn = MultiHeadSelfAttention(d_model, num_heads)
        self.cross_attn = MultiHeadCrossAttention(d_model, num_heads)
        self.linear1 = nn.Linear(d_model, d_ff)
        self.linear2 = nn.Linear(d_ff, d_model)
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        self.norm3 = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, memory, causal_mask=None, pad_mask=None, memory_pad_mask=None):
        x = self.norm1(x + self.dropout(self.self_attn(x, causal_mask, pad_mask)))
        x = self.norm2(x + self.dropout(self.cross_attn(x, memory, memory_pad_mask)))
        return self.norm3(x + self.dropout(self.linear2(self.linear1(x).relu())))
