import torch.nn as nn

class ResidualBlock(nn.Module):
    def __init__(self, d_model, sublayer, dropout=0.0, norm_first=False):
        super().__init__()
        self.norm = nn.LayerNorm(d_model)
        self.f = sublayer
        self.drop = nn.Dropout(dropout)
        self.norm_first = norm_first
    def forward(self, x, *args, **kwargs):
        if self.norm_first:
            out = self.norm(self.drop(self.f(x, *args, **kwargs)) + x)
        else:
            out = self.drop(self.f(self.norm(x), *args, **kwargs)) + x
        return out
