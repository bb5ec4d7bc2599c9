import torch
from torch import nn, Tensor


class _Norm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.gamma = nn.Parameter(torch.ones(dim))
        self.beta = nn.Parameter(torch.zeros(dim))

    def forward(self, x: Tensor) -> Tensor:
        var, mean = torch.var_mean(x, dim=-1, unbiased=False, keepdim=True)
        return (x - mean) * torch.rsqrt(var + 1e-7) * self.gamma + self.beta


class ResidualBlock(nn.Module):
    def __init__(self, d_model, sublayer, dropout=0.0, norm_first=False):
        super().__init__()
        self.norm_first = norm_first
        self.parts = nn.ModuleDict({"norm": _Norm(d_model), "drop": nn.Dropout(dropout)})
        self.body = sublayer

    def forward(self, x: Tensor, *args, **kwargs) -> Tensor:
        norm, drop = self.parts["norm"], self.parts["drop"]
        match self.norm_first:
            case True:
                return x + drop(self.body(norm(x), *args, **kwargs))
            case _:
                return norm(x + drop(self.body(x, *args, **kwargs)))
