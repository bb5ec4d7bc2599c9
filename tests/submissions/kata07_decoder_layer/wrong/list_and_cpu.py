import torch
from torch import nn
from grader.given import MultiHeadCrossAttention, MultiHeadSelfAttention


def causal_mask(length, device=None):
    return torch.tril(torch.ones(length, length)) == 1


class DecoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__()
        self.self_attn = MultiHeadSelfAttention(d_model, num_heads)
        self.cross_attn = MultiHeadCrossAttention(d_model, num_heads)
        self.ff = [nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model)]
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        self.norm3 = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, memory, causal_mask=None, pad_mask=None, memory_pad_mask=None):
        x = self.norm1(x + self.dropout(self.self_attn(x, causal_mask, pad_mask)))
        x = self.norm2(x + self.dropout(self.cross_attn(x, memory, memory_pad_mask)))
        y = x
        for layer in self.ff:
            y = layer(y)
        return self.norm3(x + self.dropout(y))
