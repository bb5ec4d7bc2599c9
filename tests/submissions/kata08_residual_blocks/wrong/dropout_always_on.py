from torch import nn
import torch.nn.functional as F


class ResidualBlock(nn.Module):
    def __init__(self, d_model, sublayer, dropout=0.0, norm_first=False):
        super().__init__()
        self.norm = nn.LayerNorm(d_model)
        self.sublayer = sublayer
        self.dropout = dropout
        self.norm_first = norm_first

    def forward(self, x, *args, **kwargs):
        if self.norm_first:
            return x + F.dropout(self.sublayer(self.norm(x), *args, **kwargs), self.dropout)
        return self.norm(x + F.dropout(self.sublayer(x, *args, **kwargs), self.dropout))
