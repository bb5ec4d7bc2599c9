import torch
import torch.nn as nn


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=5000):
        super().__init__()
        pos = torch.arange(max_len)[:, None]
        j = torch.arange(d_model)
        theta = pos / 10000 ** (j / d_model)  # every feature its own wavelength
        theta[:, 0::2] = theta[:, 0::2].sin()
        theta[:, 1::2] = theta[:, 1::2].cos()
        self.theta = theta

    def forward(self, x):
        return x + self.theta[: x.size(1)]
