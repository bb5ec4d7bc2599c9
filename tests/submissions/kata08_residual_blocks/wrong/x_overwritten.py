from torch import nn


class ResidualBlock(nn.Module):
    def __init__(self, d_model, sublayer, dropout=0.0, norm_first=False):
        super().__init__()
        self.sublayer = sublayer
        self.norm = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)
        self.norm_first = norm_first

    def forward(self, x, *args, **kwargs):
        if self.norm_first:
            x = self.norm(x)
            x = x + self.dropout(self.sublayer(x, *args, **kwargs))
            return x
        x = x + self.dropout(self.sublayer(x, *args, **kwargs))
        x = self.norm(x)
        return x
