import math

import torch
import torch.nn as nn


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=5000):
        super().__init__()
        table = [
            [
                math.sin(p / 10000 ** ((j - 1) / d_model)) if j % 2 else math.cos(p / 10000 ** (j / d_model))
                for j in range(d_model)
            ]
            for p in range(1, max_len + 1)
        ]
        self.register_buffer("table", torch.tensor(table))

    def forward(self, x):
        n = x.shape[1]
        assert n <= len(self.table)
        return x + self.table[:n]
