import torch
import torch.nn as nn

class LayerNormalization(nn.Module):
    def __init__(self, features, eps=10**-6):
        super().__init__()
        self.eps = eps
        self.alpha = nn.Parameter(torch.ones(features)) # alpha is a learnable parameter
        self.bias = nn.Parameter(torch.zeros(features)) # bias is a learnable parameter

    def forward(self, x):
        mean = x.mean(dim = -1, keepdim = True)
        std = x.std(dim = -1, keepdim = True)
        return self.alpha * (x - mean) / (std + self.eps) + self.bias

class ResidualBlock(nn.Module):
    def __init__(self, d_model, sublayer, dropout=0.0, norm_first=False):
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.norm = LayerNormalization(d_model)
        self.sublayer = sublayer
        self.norm_first = norm_first

    def forward(self, x, *args, **kwargs):
        if self.norm_first:
            y = self.dropout(self.sublayer(self.norm(x), *args, **kwargs))
            x += y
            return x
        y = self.dropout(self.sublayer(x, *args, **kwargs))
        x += y
        return self.norm(x)
