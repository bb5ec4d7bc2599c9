from torch import nn


class ResidualBlock(nn.Module):
    def __init__(self, d_model, sublayer, dropout=0.0, norm_first=False):
        super().__init__()
        self.norm = nn.LayerNorm(d_model)
        self.sublayer = sublayer
        self.norm_first = norm_first

    def forward(self, x, *args, **kwargs):
        if self.norm_first:
            return self.sublayer(self.norm(x))
        return self.norm(self.sublayer(x))
