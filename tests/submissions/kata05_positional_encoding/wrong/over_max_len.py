import math

import torch
import torch.nn as nn


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=5000):
        super().__init__()
        # sin over the whole length of the sequence
        step = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / max_len))
        grid = torch.arange(max_len)[:, None] * step
        pe = torch.zeros(max_len, d_model)
        pe[:, 0::2] = grid.sin()
        pe[:, 1::2] = grid.cos()[:, : d_model // 2]
        self.register_buffer("pe", pe)

    def forward(self, x):
        return x + self.pe[: x.size(1)]
