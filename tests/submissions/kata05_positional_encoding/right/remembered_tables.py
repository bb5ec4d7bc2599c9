from functools import lru_cache

import torch
from torch import nn


@lru_cache(maxsize=None)
def table(length, size, dtype, device):
    pos = torch.arange(length, device=device, dtype=torch.float32)
    even = torch.arange(0, size, 2, device=device, dtype=torch.float32)
    angles = pos[:, None] / 10000 ** (even / size)
    codes = torch.empty(length, size, device=device)
    codes[:, ::2] = angles.sin()
    codes[:, 1::2] = angles.cos()[:, : size // 2]
    return codes.to(dtype)


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=5000):
        super().__init__()
        self.d_model, self.max_len = d_model, max_len

    def forward(self, x):
        if x.shape[1] > self.max_len:
            raise ValueError(f"{x.shape[1]} tokens, but only {self.max_len} positions")
        return x + table(x.shape[1], self.d_model, x.dtype, x.device)
