import math

import torch
import torch.nn as nn


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=5000):
        super().__init__()
        self.d_model = d_model
        self.max_len = max_len
        self.cached = None

    def build(self, x):
        n = x.shape[1]
        rows = []
        for p in range(n):
            row = []
            for j in range(self.d_model):
                a = p * math.exp(-math.log(10000) * (j // 2 * 2) / self.d_model)
                row.append(math.cos(a) if j % 2 else math.sin(a))
            rows.append(row)
        return torch.tensor(rows, dtype=x.dtype, device=x.device)

    def forward(self, x):
        if x.shape[1] > self.max_len:
            raise ValueError("too long")
        if self.cached is None:  # only once, it is slow
            self.cached = self.build(x)
        return x + self.cached
