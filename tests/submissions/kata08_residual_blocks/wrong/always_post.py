from torch import nn

class ResidualBlock(nn.Module):
    def __init__(self, d_model, sublayer, dropout=0.0, norm_first=False):
        super().__init__()
        self.norm = nn.LayerNorm(d_model)
        self.sublayer = sublayer
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, *args, **kwargs):
        # residual, then norm
        return self.norm(x + self.dropout(self.sublayer(x, *args, **kwargs)))
