import torch
from torch import nn
from torch.nn import functional as F

from grader.given import MultiHeadCrossAttention, MultiHeadSelfAttention


def causal_mask(length, device=None):
    i = torch.arange(length, device=device)
    return i[:, None] >= i


class DecoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__()
        self.sa = MultiHeadSelfAttention(d_model, num_heads)
        self.ca = MultiHeadCrossAttention(d_model, num_heads)
        self.up, self.down = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.norms = nn.ModuleList(nn.LayerNorm(d_model) for _ in range(3))
        self.p = nn.Dropout(dropout)

    def forward(self, x, memory, causal_mask=None, pad_mask=None, memory_pad_mask=None):
        a, b, c = self.norms
        x = a(x + self.p(self.sa(x, causal_mask, pad_mask)))
        x = b(x + self.p(self.ca(x, self.p(memory), memory_pad_mask)))
        return c(x + self.p(self.down(F.relu(self.up(x)))))
