import torch
from torch import nn

from grader.given import MultiHeadCrossAttention, MultiHeadSelfAttention


def causal_mask(length, device=None):
    return torch.ones(length, length, dtype=torch.bool, device=device).tril()


class DecoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__()
        self.attn = MultiHeadSelfAttention(d_model, num_heads)
        self.cross = MultiHeadCrossAttention(d_model, num_heads)
        self.up = nn.Linear(d_model, d_ff)
        self.down = nn.Linear(d_ff, d_model)
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        self.norm3 = nn.LayerNorm(d_model)
        self.drop = nn.Dropout(dropout)

    def forward(self, x, memory, causal_mask=None, pad_mask=None, memory_pad_mask=None):
        x = self.norm1(x + self.drop(self.attn(x, causal_mask, memory_pad_mask)))
        x = self.norm2(x + self.drop(self.cross(x, memory, memory_pad_mask)))
        return self.norm3(x + self.drop(self.down(self.up(x).relu())))
