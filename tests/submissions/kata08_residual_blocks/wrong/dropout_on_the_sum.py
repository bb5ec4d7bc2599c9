from torch import nn, Tensor


class ResidualBlock(nn.Module):
    def __init__(self, d_model: int, sublayer: nn.Module, dropout: float = 0.0, norm_first: bool = False):
        super().__init__()
        self.layer = sublayer
        self.layernorm = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)
        self.norm_first = norm_first

    def forward(self, x: Tensor, *args, **kwargs) -> Tensor:
        y = self.layer(self.layernorm(x) if self.norm_first else x, *args, **kwargs)
        s = self.dropout(x + y)
        if self.norm_first:
            return s
        return self.layernorm(s)
