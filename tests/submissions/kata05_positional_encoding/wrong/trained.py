import math

import torch
import torch.nn as nn


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=5000):
        super().__init__()
        codes = torch.zeros(max_len, d_model)
        t = torch.arange(max_len).unsqueeze(-1)
        w = torch.exp(torch.arange(0, d_model, 2) * -(math.log(10000.0) / d_model))
        codes[:, 0::2] = torch.sin(t * w)
        codes[:, 1::2] = torch.cos(t * w)[:, : codes[:, 1::2].shape[1]]
        self.codes = nn.Parameter(codes)
        self.codes.require_grad = False

    def forward(self, x):
        return x + self.codes[: x.shape[1]]
