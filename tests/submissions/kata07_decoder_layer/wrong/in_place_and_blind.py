import torch
from torch import nn
from grader.given import MultiHeadCrossAttention, MultiHeadSelfAttention


def causal_mask(length, device=None):
    return torch.ones(length, length, device=device).tril().bool()


class DecoderLayer(nn.Module):
    """Saves memory."""

    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__()
        self.self_attn = MultiHeadSelfAttention(d_model, num_heads)
        self.cross_attn = MultiHeadCrossAttention(d_model, num_heads)
        self.feed = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))
        for i in range(1, 4):
            setattr(self, f"norm{i}", nn.LayerNorm(d_model))
        self.drop = nn.Dropout(dropout)

    def forward(self, x, memory, causal_mask=None, pad_mask=None, memory_pad_mask=None):
        x += self.drop(self.self_attn(x, pad_mask=pad_mask))
        x = self.norm1(x)
        x = x + self.drop(self.cross_attn(x, memory, pad_mask=memory_pad_mask))
        x = self.norm2(x)
        x = x + self.drop(self.feed(x))
        return self.norm3(x)
