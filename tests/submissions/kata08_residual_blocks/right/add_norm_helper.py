import torch
from torch import nn


class AddNorm(nn.Module):
    '''The residual connection, with or without a norm behind it.'''

    def __init__(self, norm, p):
        super().__init__()
        self.norm = norm
        self.dropout = nn.Dropout(p)

    def forward(self, x, y):
        total = self.dropout(y) + x
        return total if self.norm is None else self.norm(total)


class ResidualBlock(nn.Module):
    def __init__(self, d_model, sublayer, dropout=0.0, norm_first=False):
        super().__init__()
        norm = nn.LayerNorm(normalized_shape=[d_model], eps=1e-12)
        self.prenorm = norm if norm_first else None
        self.add = AddNorm(None if norm_first else norm, dropout)
        self.sublayer = sublayer

    def forward(self, x, *args, **kwargs):
        y = x if self.prenorm is None else self.prenorm(x)
        return self.add(x, self.sublayer(y, *args, **kwargs))
