import math

import torch
from torch import nn


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=5000):
        super().__init__()
        self.max_len = max_len
        i = torch.arange(0, d_model, 2, dtype=torch.float64)
        angle = torch.arange(max_len)[:, None] * torch.exp(-math.log(10000.0) * i / d_model)
        table = torch.zeros(max_len, d_model)
        table[:, 0::2] = angle.sin()
        table[:, 1::2] = angle.cos()[:, : d_model // 2]
        self.register_buffer("table", table)

    def forward(self, x):
        places = torch.arange(x.size(1), device=x.device).clamp(max=len(self.table) - 1)
        return x + self.table[places]
