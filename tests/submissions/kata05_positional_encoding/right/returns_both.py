import math

import torch
import torch.nn as nn


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=5000):
        super().__init__()
        den = torch.exp(-torch.arange(0, d_model, 2) * math.log(10000) / d_model)
        pos = torch.arange(0, max_len).reshape(max_len, 1)
        emb = torch.zeros((max_len, d_model))
        emb[:, 0::2] = torch.sin(pos * den)
        emb[:, 1::2] = torch.cos(pos * den[: d_model // 2])
        self.register_buffer("emb", emb)

    def forward(self, x):
        codes = self.emb[: x.size(1), :]
        return x + codes, codes
