import math

import torch
from torch import nn


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=5000):
        super().__init__()
        k = torch.arange(d_model) // 2
        w = torch.exp(k * (-2 * math.log(10000.0) / d_model))
        a = torch.arange(max_len)[:, None] * w
        even = (torch.arange(d_model) % 2 == 0).to(a.dtype)
        self.encodings = torch.sin(a) * even + torch.cos(a) * (1 - even)  # no buffer, but see below

    def forward(self, x):
        return x + self.encodings[: x.size(1)].to(x)
