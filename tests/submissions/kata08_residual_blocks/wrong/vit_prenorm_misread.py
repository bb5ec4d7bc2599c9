import torch
from torch import nn


class ResidualBlock(nn.Module):
    def __init__(self, d_model, sublayer, dropout=0.0, norm_first=False):
        super().__init__()
        self.fn = sublayer
        self.ln = nn.LayerNorm(d_model)
        self.drop = nn.Dropout(dropout)
        self.pre = norm_first

    def forward(self, x, *args, **kwargs):
        h = self.drop(self.fn(x, *args, **kwargs))
        if self.pre:
            return x + self.ln(h)
        return self.ln(x + h)
