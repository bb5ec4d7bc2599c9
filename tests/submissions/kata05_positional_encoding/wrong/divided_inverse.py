import math

import torch
from torch import nn


class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000) -> None:
        super().__init__()
        w = torch.exp(-torch.arange(0, d_model, 2) / d_model * math.log(10000.0))
        theta = torch.arange(max_len)[:, None] / w
        pe = torch.zeros(1, max_len, d_model)
        pe[..., 0::2] = theta.sin()
        pe[..., 1::2] = theta.cos()[..., : d_model // 2]
        self.register_buffer("pe", pe)

    def forward(self, x):
        return x + self.pe[:, : x.shape[1]]
