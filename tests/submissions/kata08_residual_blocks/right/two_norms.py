import torch
import torch.nn as nn


class ResidualBlock(nn.Module):
    """Keeps a norm for each order, and uses the one that is asked for."""

    def __init__(self, d_model, sublayer, dropout=0.0, norm_first=False):
        super().__init__()
        self.pre_norm = nn.LayerNorm(d_model)
        self.post_norm = nn.LayerNorm(d_model)
        self.sublayer = sublayer
        self.drop = nn.Dropout(dropout)
        self.norm_first = norm_first

    def forward(self, x, *args, **kwargs):
        if self.norm_first:
            y = self.pre_norm(x)
            y = self.sublayer(y, *args, **kwargs)
            y = self.drop(y)
            return x + y
        y = self.sublayer(x, *args, **kwargs)
        y = self.drop(y)
        return self.post_norm(x + y)
