import torch
from torch import nn


class ResidualBlock(nn.Module):
    def __init__(self, d_model, sublayer, dropout=0.0, norm_first=False):
        super().__init__()
        self.norm = nn.LayerNorm(d_model)
        self.sublayer = sublayer
        self.drop = nn.Dropout(dropout)
        self.norm_first = norm_first

    def forward(self, x, *args, **kwargs):
        skip = x.detach().clone()  # so that it is not changed
        if self.norm_first:
            return skip + self.drop(self.sublayer(self.norm(x), *args, **kwargs))
        return self.norm(skip + self.drop(self.sublayer(x, *args, **kwargs)))
