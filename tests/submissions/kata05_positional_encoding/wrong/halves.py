import math

import torch
from torch import nn


class PositionalEncoding(nn.Module):
    """sin | cos, as in tensor2tensor"""

    def __init__(self, d_model, max_len=5000):
        super().__init__()
        freq = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000) / d_model))
        angles = torch.arange(max_len)[:, None] * freq[None]
        self.register_buffer("signal", torch.cat([angles.sin(), angles.cos()], dim=-1))

    def forward(self, x):
        return x + self.signal[: x.size(1)]
