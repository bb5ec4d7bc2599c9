import math
import torch
from torch import nn
class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=5000):
        super().__init__()
        if max_len < 2:
            raise ValueError("max_len must be at least 2")
        position = torch.arange(max_len, dtype=torch.float32).unsqueeze(1)
        even = torch.arange(0, d_model, 2, dtype=torch.float32)
        freq = torch.exp(-math.log(10000.0) * even / d_model)
        angles = position * freq
        pe = torch.zeros(max_len, d_model)
        pe[:, 0::2] = torch.sin(angles)
        pe[:, 1::2] = torch.cos(angles[:, : d_model // 2])
        self.register_buffer("pe", pe)
        self.max_len = max_len
    def forward(self, x):
        n = x.size(1)
        if n > self.max_len:
            raise ValueError("too long")
        return x + self.pe[:n].to(x.dtype)
