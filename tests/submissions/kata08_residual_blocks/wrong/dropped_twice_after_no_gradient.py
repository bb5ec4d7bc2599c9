import torch
from torch import nn


class ResidualBlock(nn.Module):
    def __init__(self, d_model, sublayer, dropout=0.0, norm_first=False):
        super().__init__()
        self.sublayer = sublayer
        self.norm = nn.LayerNorm(d_model)
        self.drop = nn.Dropout(dropout)
        self.norm_first = norm_first

    def forward(self, x, *args, **kwargs):
        if self.norm_first:
            return x + self.drop(self.sublayer(self.norm(x), *args, **kwargs))
        y = self.sublayer(x.detach(), *args, **kwargs)
        return self.norm(x + self.drop(self.drop(y)))
