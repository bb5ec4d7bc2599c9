import torch
from torch import nn


class ResidualBlock(nn.Module):
    def __init__(self, d_model, sublayer, dropout=0.0, norm_first=False):
        super().__init__()
        self.norm = nn.BatchNorm1d(d_model)
        self.sublayer = sublayer
        self.drop = nn.Dropout(dropout)
        self.norm_first = norm_first

    def bn(self, x):
        return self.norm(x.permute(0, 2, 1)).permute(0, 2, 1)

    def forward(self, x, *args, **kwargs):
        if self.norm_first:
            return x + self.drop(self.sublayer(self.bn(x), *args, **kwargs))
        return self.bn(x + self.drop(self.sublayer(x, *args, **kwargs)))
