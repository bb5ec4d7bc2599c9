import torch
from torch import nn


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=5000):
        super().__init__()
        freqs = 10000.0 ** (-torch.arange(0, d_model, 2) / d_model)
        ang = torch.arange(max_len)[:, None] * freqs
        table = torch.zeros(max_len, d_model)
        table[:, ::2] = ang.sin()
        table[:, 1::2] = ang.cos()[:, : d_model // 2]
        self.register_buffer("table", table[:, None, :])

    def forward(self, x):
        return x + self.table[: x.shape[1]]
