import math

import torch
import torch.nn as nn


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=5000):
        super().__init__()
        self.d_model = d_model
        self.max_len = max_len
        self.pe = None

    def forward(self, x):
        if x.size(1) > self.max_len:
            raise ValueError("sequence too long")
        if self.pe is None:
            position = torch.arange(self.max_len, device=x.device).unsqueeze(1)
            step = torch.arange(0, self.d_model, 2, device=x.device)
            angle = position * torch.exp(step * (-math.log(10000.0) / self.d_model))
            pe = torch.zeros(self.max_len, self.d_model, device=x.device)
            pe[:, 0::2] = torch.sin(angle)
            pe[:, 1::2] = torch.cos(angle[:, : self.d_model // 2])
            self.pe = pe.to(x.dtype)
        return x + self.pe[: x.size(1)]
