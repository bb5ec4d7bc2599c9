import torch.nn as nn


class ResidualBlock(nn.Module):
    def __init__(self, d_model, sublayer, dropout=0.0, norm_first=False):
        super().__init__()
        self.fn, self.ln, self.pre = sublayer, nn.LayerNorm(d_model), norm_first

    def forward(self, x, *args, **kwargs):
        if self.pre:
            n = self.ln(x)
            return x + self.fn(n, *args, **kwargs)
        return x + self.ln(self.fn(x, *args, **kwargs))
