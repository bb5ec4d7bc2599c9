from torch import nn, Tensor
import torch

class _Base(nn.Module):
    def __init__(self, d_model, sublayer, dropout=0.0, norm_first=False):
        super().__init__()
        if callable(sublayer) and not isinstance(sublayer, nn.Module):
            self.__dict__["inner"] = sublayer
        else:
            self.add_module("inner", sublayer)
        self.gain, self.shift = nn.Parameter(torch.ones(d_model)), nn.Parameter(torch.zeros(d_model))
        self.dropout = nn.Dropout(dropout)
    def norm(self, x):
        wide = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
        wide = wide - wide.mean(-1, keepdim=True)
        wide = wide / torch.sqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-5)
        return wide.to(x.dtype) * self.gain + self.shift

class PreNorm(_Base):
    def forward(self, x, *args, **kwargs):
        return x + self.dropout(self.inner(self.norm(x), *args, **kwargs))

class PostNorm(_Base):
    def forward(self, x, *args, **kwargs):
        return self.norm(x + self.dropout(self.inner(x, *args, **kwargs)))

def ResidualBlock(d_model, sublayer, dropout=0.0, norm_first=False):
    return (PreNorm if norm_first else PostNorm)(d_model, sublayer, dropout, norm_first)
