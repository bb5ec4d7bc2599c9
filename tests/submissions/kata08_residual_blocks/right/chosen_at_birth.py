from torch import nn


class ResidualBlock(nn.Module):
    """The order is settled once; forward then only calls it."""

    def __init__(self, d_model, sublayer, dropout=0.0, norm_first=False):
        super().__init__()
        self.sublayer = sublayer
        self.ln = nn.LayerNorm(d_model)
        self.drop = nn.Dropout(dropout)
        self.run = self._pre if norm_first else self._post

    def _pre(self, x, args, kwargs):
        return x + self.drop(self.sublayer(self.ln(x), *args, **kwargs))

    def _post(self, x, args, kwargs):
        return self.ln(x + self.drop(self.sublayer(x, *args, **kwargs)))

    def forward(self, x, *args, **kwargs):
        return self.run(x, args, kwargs)
