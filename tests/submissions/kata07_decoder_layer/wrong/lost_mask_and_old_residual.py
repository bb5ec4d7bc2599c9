import torch
from torch import nn

from grader.given import MultiHeadCrossAttention, MultiHeadSelfAttention


def causal_mask(length, device=None):
    r = torch.arange(length, device=device)
    return r[None] <= r[:, None]


class AddNorm(nn.Module):
    def __init__(self, d, p):
        super().__init__()
        self.ln, self.drop = nn.LayerNorm(d), nn.Dropout(p)

    def forward(self, a, b):
        return self.ln(a + self.drop(b))


class DecoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__()
        self.attn1 = MultiHeadSelfAttention(d_model, num_heads)
        self.attn2 = MultiHeadCrossAttention(d_model, num_heads)
        self.addnorm1 = AddNorm(d_model, dropout)
        self.addnorm2 = AddNorm(d_model, dropout)
        self.addnorm3 = AddNorm(d_model, dropout)
        self.ff = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))

    def forward(self, x, memory, causal_mask=None, pad_mask=None, memory_pad_mask=None):
        y = self.addnorm1(x, self.attn1(x, causal_mask, pad_mask))
        z = self.addnorm2(x, self.attn2(y, memory))
        return self.addnorm3(z, self.ff(z))
