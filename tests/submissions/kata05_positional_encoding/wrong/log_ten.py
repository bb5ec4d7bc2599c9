import math

import torch
import torch.nn as nn


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=5000):
        super().__init__()
        pos = torch.arange(max_len).float()
        idx = torch.arange(0, d_model, 2).float()
        rate = torch.exp(-idx / d_model * math.log10(10000))
        grid = torch.outer(pos, rate)
        full = torch.stack([grid.sin(), grid.cos()], dim=2).reshape(max_len, -1)
        self.register_buffer("full", full[:, :d_model])

    def forward(self, x):
        return x + self.full[: x.size(1)].unsqueeze(0)
