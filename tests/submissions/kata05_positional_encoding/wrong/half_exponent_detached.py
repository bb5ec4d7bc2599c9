import torch
from torch import nn


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=5000):
        super().__init__()
        n = (d_model + 1) // 2
        inv = 10000 ** (-torch.arange(n) / d_model)
        m = torch.arange(max_len)[:, None] * inv
        self.register_buffer("m", torch.stack([m.sin(), m.cos()], -1).flatten(1)[:, :d_model])

    def forward(self, x):
        out = x.data + self.m[: x.shape[1]]
        return out
