"""Sample deviation, no activation, and the mask goes nowhere."""
import torch
from torch import nn
from grader.given import MultiHeadSelfAttention


class MyLayerNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.bias = nn.Parameter(torch.zeros(dim))

    def forward(self, t):
        mu = torch.mean(t, -1, keepdim=True)
        var = torch.var(t, -1, keepdim=True)
        return (t - mu) / torch.sqrt(var + 1e-5) * self.weight + self.bias


class EncoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__()
        self.sa = MultiHeadSelfAttention(d_model, num_heads)
        self.fc1 = nn.Linear(d_model, d_ff)
        self.fc2 = nn.Linear(d_ff, d_model)
        self.norm1 = MyLayerNorm(d_model)
        self.norm2 = MyLayerNorm(d_model)
        self.drop = nn.Dropout(dropout)

    def forward(self, x, pad_mask=None):
        y = self.norm1(self.drop(self.sa(x)) + x)
        z = self.fc2(self.fc1(y))
        return self.norm2(y + self.drop(z))
