from torch import nn


class ResidualBlock(nn.Module):
    def __init__(self, d_model, sublayer, dropout=0.0, norm_first=False):
        super().__init__()
        self.layers = [sublayer]
        self.norm = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)
        self.norm_first = norm_first

    def forward(self, x, *args, **kwargs):
        y = self.norm(x) if self.norm_first else x
        for layer in self.layers:
            y = layer(y, *args, **kwargs)
        y = x + self.dropout(y)
        return y if self.norm_first else self.norm(y)
