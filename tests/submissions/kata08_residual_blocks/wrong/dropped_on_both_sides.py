from torch import nn


class ResidualBlock(nn.Module):
    def __init__(self, d_model, sublayer, dropout=0.0, norm_first=False):
        super().__init__()
        self.sublayer = sublayer
        self.norm = nn.LayerNorm(d_model)
        self.drop = nn.Dropout(dropout)
        self.norm_first = norm_first

    def forward(self, x, *args, **kwargs):
        h = self.norm(x) if self.norm_first else x
        x = x + self.drop(self.sublayer(self.drop(h), *args, **kwargs))
        return x if self.norm_first else self.norm(x)
