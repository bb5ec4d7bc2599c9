import math

import torch
from torch import nn


class PositionalEncoding(nn.Module):
    """Table kept as (max_len, 1, d_model), as for sequence-first models."""

    def __init__(self, d_model: int, max_len: int = 5000):
        super().__init__()
        position = torch.arange(max_len)[:, None]
        n_cos = d_model // 2
        div_term = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        pe = torch.zeros(max_len, 1, d_model)
        pe[:, 0, 0::2] = torch.sin(position * div_term)
        if n_cos:
            pe[:, 0, 1::2] = torch.cos(position * div_term[:n_cos])
        self.register_buffer("pe", pe, persistent=False)

    def forward(self, x):
        seq_len = x.size(1)
        assert seq_len <= self.pe.size(0), "sequence too long"
        x = x.transpose(0, 1)  # (L, B, D)
        x = x + self.pe[:seq_len]
        return x.transpose(0, 1)
