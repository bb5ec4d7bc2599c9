import torch
from torch import nn
from grader.given import MultiHeadCrossAttention, MultiHeadSelfAttention


def causal_mask(length, device=None):
    return torch.ones(length, length, device=device).tril().bool()


class Block(nn.Module):
    def __init__(self, d_model, dropout):
        super().__init__()
        self.norm = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, y):
        # keep the variance where it was
        return self.norm(0.5 * x + self.dropout(y))


class DecoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__()
        self.self_attn = MultiHeadSelfAttention(d_model, num_heads)
        self.cross_attn = MultiHeadCrossAttention(d_model, num_heads)
        self.ffn = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))
        self.block1, self.block2, self.block3 = Block(d_model, dropout), Block(d_model, dropout), Block(d_model, dropout)

    def forward(self, x, memory, causal_mask=None, pad_mask=None, memory_pad_mask=None):
        x = self.block1(x, self.self_attn(x, causal_mask, pad_mask))
        x = self.block2(x, self.cross_attn(x, memory, memory_pad_mask))
        return self.block3(x, self.ffn(x))
