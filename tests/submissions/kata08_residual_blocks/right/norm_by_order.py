from torch import nn


class ResidualBlock(nn.Module):
    def __init__(self, d_model, sublayer, dropout=0.0, norm_first=False):
        super().__init__()
        if norm_first:
            self.before = nn.LayerNorm(d_model, eps=1e-6)
            self.after = nn.Identity()
        else:
            self.before = nn.Identity()
            self.after = nn.LayerNorm(d_model, eps=1e-6)
        self.fn = sublayer
        self.dropout = nn.Dropout(p=dropout)

    def forward(self, x, *args, **kwargs):
        return self.after(x + self.dropout(self.fn(self.before(x), *args, **kwargs)))
