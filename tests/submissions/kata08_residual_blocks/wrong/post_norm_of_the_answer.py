import torch.nn as nn


class ResidualBlock(nn.Module):
    def __init__(self, d_model, sublayer, dropout=0.0, norm_first=False):
        super().__init__()
        self.sublayer = sublayer
        self.ln = nn.LayerNorm(d_model)
        self.dp = nn.Dropout(1 - dropout)
        self.norm_first = norm_first

    def forward(self, x, *args, **kwargs):
        if self.norm_first:
            return x + self.dp(self.sublayer(self.ln(x), *args, **kwargs))
        return x + self.ln(self.dp(self.sublayer(x, *args, **kwargs)))
