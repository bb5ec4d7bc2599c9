import torch
from torch import nn


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=5000):
        super().__init__()
        p = torch.arange(1, max_len + 1).view(-1, 1)
        pairs = torch.arange(0, d_model, 2)
        a = p * 10000 ** (-pairs / d_model)
        tab = torch.empty(max_len, d_model)
        tab[:, 0::2] = a.sin()
        tab[:, 1::2] = a[:, : d_model // 2].cos()
        self.register_buffer("tab", tab)

    def forward(self, x):
        return x + self.tab
