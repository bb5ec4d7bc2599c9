import math

import torch
import torch.nn as nn


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=5000):
        super().__init__()
        f = 10000.0 ** (-torch.arange(0, d_model, 2) / d_model)
        a = 2 * math.pi * torch.arange(max_len)[:, None] * f
        t = torch.zeros(max_len, d_model)
        t[:, 0::2] = a.sin()
        t[:, 1::2] = a.cos()[:, : d_model // 2]
        self.register_buffer("t", t)

    def forward(self, x):
        return x + self.t[: x.size(1)]
