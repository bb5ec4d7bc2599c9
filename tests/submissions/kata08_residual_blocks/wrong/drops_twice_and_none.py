from torch import nn


class ResidualBlock(nn.Module):
    def __init__(self, d_model, sublayer, dropout=0.0, norm_first=False):
        super().__init__()
        self.body = sublayer
        self.norm = nn.LayerNorm(d_model)
        self.drop = nn.Dropout(dropout)
        self.norm_first = norm_first

    def forward(self, x, *args, **kwargs):
        kwargs = {name: value for name, value in kwargs.items() if value is not None}
        if self.norm_first:
            return x + self.drop(self.drop(self.body(self.norm(x), *args, **kwargs)))
        return self.norm(x + self.drop(self.drop(self.body(x, *args, **kwargs))))
