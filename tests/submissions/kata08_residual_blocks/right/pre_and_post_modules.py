import torch
from torch import nn


class PreNorm(nn.Module):
    def __init__(self, dim, fn, drop):
        super().__init__()
        self.fn = fn
        self.norm = nn.LayerNorm(dim)
        self.drop = nn.Dropout(drop)

    def forward(self, x, *args, **kwargs):
        return self.drop(self.fn(self.norm(x), *args, **kwargs)) + x


class PostNorm(nn.Module):
    def __init__(self, dim, fn, drop):
        super().__init__()
        self.fn = fn
        self.norm = nn.LayerNorm(dim)
        self.drop = nn.Dropout(drop)

    def forward(self, x, *args, **kwargs):
        return self.norm(self.drop(self.fn(x, *args, **kwargs)) + x)


class ResidualBlock(nn.Module):
    def __init__(self, d_model, sublayer, dropout=0.0, norm_first=False):
        super().__init__()
        kind = PreNorm if norm_first else PostNorm
        self.block = kind(d_model, sublayer, dropout)

    def forward(self, x, *args, **kwargs):
        return self.block(x, *args, **kwargs)
