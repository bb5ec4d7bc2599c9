import math

import torch
import torch.nn as nn


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=5000):
        super().__init__()
        rows = []
        for pos in range(max_len):
            row = []
            for j in range(d_model):
                angle = pos / 10000 ** (2 * (j // 2) // d_model)
                row.append(math.sin(angle) if j % 2 == 0 else math.cos(angle))
            rows.append(row)
        self.register_buffer("rows", torch.tensor(rows))

    def forward(self, x):
        return x + self.rows[: x.shape[1]]
