import torch
from torch import nn


class MultiHeadCrossAttention(nn.Module):
    """Only runs where both sequences are equally long."""

    def __init__(self, d_model, num_heads):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(num_heads)
        self.num_heads = num_heads
        self.head_dim = d_model // num_heads
        self.q = nn.Linear(d_model, d_model)
        self.k = nn.Linear(d_model, d_model)
        self.v = nn.Linear(d_model, d_model)
        self.o = nn.Linear(d_model, d_model)

    def heads(self, layer, tokens):
        return layer(tokens).view(tokens.size(0), tokens.size(1), self.num_heads, self.head_dim).transpose(1, 2)

    def forward(self, x, memory, pad_mask=None):
        q = self.heads(self.q, x)
        k = self.heads(self.k, x)
        v = self.heads(self.v, memory)
        weights = (q @ k.transpose(-2, -1) / self.head_dim ** 0.5).softmax(dim=-1)
        return self.o((weights @ v).transpose(1, 2).flatten(2))
