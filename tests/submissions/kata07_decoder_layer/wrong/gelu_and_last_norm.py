import torch
from torch import nn
from grader.given import MultiHeadCrossAttention, MultiHeadSelfAttention


def causal_mask(length, device=None):
    return torch.ones(length, length, device=device).tril().bool()


class DecoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__()
        self.selfAttn = MultiHeadSelfAttention(d_model, num_heads)
        self.crossAttn = MultiHeadCrossAttention(d_model, num_heads)
        self.ffn = nn.Sequential(nn.Linear(d_model, d_ff), nn.GELU(), nn.Linear(d_ff, d_model), nn.Dropout(dropout))
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        self.drop = nn.Dropout(dropout)

    def forward(self, x, memory, causal_mask=None, pad_mask=None, memory_pad_mask=None):
        x = self.norm1(x + self.drop(self.selfAttn(x, causal_mask, pad_mask)))
        x = self.norm2(x + self.drop(self.crossAttn(x, memory, memory_pad_mask)))
        return x + self.ffn(x)
