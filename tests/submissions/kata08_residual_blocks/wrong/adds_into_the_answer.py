import torch
from torch import nn


class ResidualBlock(nn.Module):
    def __init__(self, d_model, sublayer, dropout=0.0, norm_first=False):
        super().__init__()
        self.sublayer = sublayer
        self.norm = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)
        self.norm_first = norm_first

    def forward(self, x, *args, **kwargs):
        out = self.norm(x) if self.norm_first else x
        out = self.dropout(self.sublayer(out, *args, **kwargs))
        out.add_(x)
        if self.norm_first:
            return out
        return self.norm(out)
