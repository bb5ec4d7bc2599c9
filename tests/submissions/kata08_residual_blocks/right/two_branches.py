import torch
import torch.nn as nn


class ResidualBlock(nn.Module):
    def __init__(self, d_model, sublayer, dropout=0.0, norm_first=False):
        super().__init__()
        self.norm = nn.LayerNorm(d_model)
        self.sublayer = sublayer
        self.dropout = nn.Dropout(dropout)
        self.norm_first = norm_first

    def forward(self, x, *args, **kwargs):
        if self.norm_first:
            return x + self.dropout(self.sublayer(self.norm(x), *args, **kwargs))
        else:
            return self.norm(x + self.dropout(self.sublayer(x, *args, **kwargs)))
