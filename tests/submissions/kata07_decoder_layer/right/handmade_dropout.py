import torch
import torch.nn as nn

from grader.given import MultiHeadCrossAttention, MultiHeadSelfAttention


class Dropout(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        if not self.training or self.p == 0:
            return x
        keep = (torch.rand_like(x) > self.p).to(x.dtype)
        return x * keep / (1 - self.p)


class Residual(nn.Module):
    """Sublayer, dropout, sum, norm."""

    def __init__(self, fn, d_model, dropout):
        super().__init__()
        self.fn = fn
        self.norm = nn.LayerNorm(d_model)
        self.dropout = Dropout(dropout)

    def forward(self, x, *args):
        return self.norm(torch.add(x, self.dropout(self.fn(x, *args))))


class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.up = nn.Linear(d_model, d_ff, bias=False)
        self.down = nn.Linear(d_ff, d_model, bias=False)

    def forward(self, x):
        return self.down(self.up(x).clamp(min=0))


class DecoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__()
        self.self_block = Residual(MultiHeadSelfAttention(d_model, num_heads), d_model, dropout)
        self.cross_block = Residual(MultiHeadCrossAttention(d_model, num_heads), d_model, dropout)
        self.ffn_block = Residual(FeedForward(d_model, d_ff), d_model, dropout)

    def forward(self, x, memory, causal_mask=None, pad_mask=None, memory_pad_mask=None):
        x = self.self_block(x, causal_mask, pad_mask)
        x = self.cross_block(x, memory, memory_pad_mask)
        return self.ffn_block(x)


def causal_mask(length, device=None):
    return torch.ones(length, length, device=device).cumsum(dim=0).ge(
        torch.ones(length, length, device=device).cumsum(dim=1)
    )
