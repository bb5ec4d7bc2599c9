"""Norm and dropout written out."""
import torch
from torch import nn


class LayerNorm(nn.Module):
    def __init__(self, size, eps=1e-6):
        super().__init__()
        self.a_2 = nn.Parameter(torch.ones(size))
        self.b_2 = nn.Parameter(torch.zeros(size))
        self.eps = eps

    def forward(self, x):
        mean = x.mean(-1, keepdim=True)
        std = torch.sqrt(((x - mean) ** 2).mean(-1, keepdim=True))
        return self.a_2 * (x - mean) / (std + self.eps) + self.b_2


class Dropout(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        if self.training and self.p > 0:
            mask = torch.rand_like(x) > self.p
            return x * mask / (1.0 - self.p)
        return x


class ResidualBlock(nn.Module):
    def __init__(self, d_model, sublayer, dropout=0.0, norm_first=False):
        super().__init__()
        self.norm = LayerNorm(d_model)
        self.dropout = Dropout(dropout)
        self.sublayer = sublayer
        self.norm_first = norm_first

    def forward(self, x, *args, **kwargs):
        residual = x
        if self.norm_first:
            x = self.norm(x)
        x = self.sublayer(x, *args, **kwargs)
        x = residual + self.dropout(x)
        if not self.norm_first:
            x = self.norm(x)
        return x
