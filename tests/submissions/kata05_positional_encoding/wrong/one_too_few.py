import torch
from torch import nn


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=5000):
        super().__init__()
        self.max_len = max_len
        t = torch.arange(max_len)[:, None] * 10000.0 ** (-torch.arange(0, d_model, 2) / d_model)
        pe = torch.zeros(max_len, d_model)
        pe[:, 0::2] = t.sin()
        pe[:, 1::2] = t.cos()[:, : d_model // 2]
        self.register_buffer("pe", pe)

    def forward(self, x):
        assert x.size(1) < self.max_len, "too long"
        return self.pe[: x.size(1)] * x
