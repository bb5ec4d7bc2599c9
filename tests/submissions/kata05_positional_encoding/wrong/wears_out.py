import math

import torch
from torch import nn


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=5000):
        super().__init__()
        pe = torch.zeros(max_len, d_model)
        ang = torch.arange(max_len)[:, None] * torch.exp(
            torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model)
        )
        pe[:, 0::2] = ang.sin()
        pe[:, 1::2] = ang.cos()[:, : d_model // 2]
        self.register_buffer("pe", pe)

    def forward(self, x):
        codes = self.pe[: x.size(1)]
        codes += x.mean(0).detach() * 0  # view of the buffer
        out = x + codes
        codes *= 0.99
        return out
