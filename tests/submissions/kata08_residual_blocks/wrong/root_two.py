import math
from torch import nn


class ResidualBlock(nn.Module):
    def __init__(self, d_model, sublayer, dropout=0.0, norm_first=False):
        super().__init__()
        self.fn = sublayer
        self.norm = nn.LayerNorm(d_model)
        self.drop = nn.Dropout(dropout)
        self.norm_first = norm_first

    def forward(self, x, *args, **kwargs):
        res = x
        if self.norm_first:
            x = self.norm(x)
        x = self.drop(self.fn(x, *args, **kwargs))
        x = (x + res) * math.sqrt(0.5)  # keep the variance
        return x if self.norm_first else self.norm(x)
