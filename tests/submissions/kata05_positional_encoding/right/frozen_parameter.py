import torch
import torch.nn as nn


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=5000):
        super().__init__()
        i = torch.arange(d_model)
        rates = 1 / (10000 ** ((2 * (i // 2)) / d_model))
        angles = torch.arange(max_len).reshape(-1, 1) * rates.reshape(1, -1)
        angles[:, 0::2] = torch.sin(angles[:, 0::2])
        angles[:, 1::2] = torch.cos(angles[:, 1::2])
        self.pos_encoding = nn.Parameter(angles[None], requires_grad=False)

    def forward(self, x):
        return x + self.pos_encoding[:, : x.shape[1], :]
