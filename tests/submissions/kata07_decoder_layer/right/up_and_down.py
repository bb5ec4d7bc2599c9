import torch
import torch.nn.functional as F
from torch import nn

from grader.given import MultiHeadCrossAttention, MultiHeadSelfAttention


def causal_mask(length, device=None):
    steps = torch.arange(length, device=device)
    return steps[:, None] >= steps


class DecoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__()
        self.db = nn.Parameter(torch.randn(1, d_model))
        self.ub = nn.Parameter(torch.randn(1, d_ff))
        self.up = nn.Parameter(torch.randn(d_model, d_ff) / d_model**0.5)
        self.down = nn.Parameter(torch.randn(d_ff, d_model) / d_ff**0.5)
        self.n = nn.ModuleList(nn.LayerNorm(d_model) for _ in range(3))
        self.own = MultiHeadSelfAttention(d_model, num_heads)
        self.cross = MultiHeadCrossAttention(d_model, num_heads)
        self.drop = nn.Dropout(dropout)

    def forward(self, x, memory, causal_mask=None, pad_mask=None, memory_pad_mask=None):
        first, second, third = self.n
        x = first(x + self.drop(self.own(x, causal_mask=causal_mask, pad_mask=pad_mask)))
        x = second(x + self.drop(self.cross(x, memory, pad_mask=memory_pad_mask)))
        return third(x + self.drop((x @ self.up + self.ub).clamp(min=0) @ self.down + self.db))
