import math

import torch
from torch import nn


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=5000):
        super().__init__()
        pe = torch.zeros(max_len, d_model)
        pos = torch.arange(max_len).unsqueeze(1)
        div = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        pe[0::2] = torch.sin(pos * div).repeat_interleave(2, 1)[0::2, :d_model]
        pe[1::2] = torch.cos(pos * div).repeat_interleave(2, 1)[1::2, :d_model]
        self.register_buffer("pe", pe)
        self.max_len = max_len

    def forward(self, x):
        x = x[:, : self.max_len]
        return x + self.pe[: x.shape[1]]
