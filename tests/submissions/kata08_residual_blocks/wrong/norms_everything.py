import torch
from torch import nn


class ResidualBlock(nn.Module):
    """Pre-norm also normalises the memory that is handed on."""

    def __init__(self, d_model, sublayer, dropout=0.0, norm_first=False):
        super().__init__()
        self.norm = nn.LayerNorm(d_model)
        self.sublayer = sublayer
        self.drop = nn.Dropout(dropout)
        self.norm_first = norm_first

    def forward(self, x, *args, **kwargs):
        if self.norm_first:
            args = [self.norm(a) if torch.is_tensor(a) else a for a in args]
            return x + self.drop(self.sublayer(self.norm(x), *args, **kwargs))
        return self.norm(x + self.drop(self.sublayer(x, *args, **kwargs)))
