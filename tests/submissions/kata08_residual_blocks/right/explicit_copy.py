import torch
import torch.nn as nn
from copy import deepcopy


class ResidualBlock(nn.Module):
    def __init__(self, d_model: int, sublayer, dropout: float = 0.0, norm_first: bool = False):
        super().__init__()
        self.d_model = d_model
        self.sublayer = sublayer
        self.norm_first = bool(norm_first)
        self.norm = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout) if dropout > 0 else nn.Identity()

    def forward(self, x, *args, **kwargs):
        assert x.shape[-1] == self.d_model, f"expected {self.d_model} features, got {x.shape[-1]}"
        skip = x.clone()
        if self.norm_first:
            x = self.norm(x)
        out = self.dropout(self.sublayer(x, *args, **kwargs))
        skip += out  # the clone is ours
        if not self.norm_first:
            skip = self.norm(skip)
        return skip
