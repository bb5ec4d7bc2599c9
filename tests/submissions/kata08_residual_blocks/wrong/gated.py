import torch
from torch import nn


class ResidualBlock(nn.Module):
    """With a gate that starts closed, as in ReZero."""

    def __init__(self, d_model, sublayer, dropout=0.0, norm_first=False):
        super().__init__()
        self.norm = nn.LayerNorm(d_model)
        self.gate = nn.Parameter(torch.tensor(0.1))
        self.sublayer = sublayer
        self.drop = nn.Dropout(dropout)
        self.norm_first = norm_first

    def forward(self, x, *args, **kwargs):
        y = self.sublayer(self.norm(x) if self.norm_first else x, *args, **kwargs)
        y = x + self.gate * self.drop(y)
        return y if self.norm_first else self.norm(y)
