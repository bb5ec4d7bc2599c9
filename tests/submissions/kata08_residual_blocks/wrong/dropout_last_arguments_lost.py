from torch import nn


class ResidualBlock(nn.Module):
    def __init__(self, d_model, sublayer, dropout=0.0, norm_first=False):
        super().__init__()
        self.sub, self.norm, self.drop, self.first = sublayer, nn.LayerNorm(d_model), nn.Dropout(dropout), norm_first

    def forward(self, x, *args, **kwargs):
        if self.first:
            out = x + self.sub(self.norm(x))
        else:
            out = self.norm(x + self.sub(x))
        return self.drop(out)
