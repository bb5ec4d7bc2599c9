import math

import torch
import torch.nn as nn


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=5000):
        super().__init__()
        self.scale = math.sqrt(d_model)
        i = torch.arange(0, d_model, 2)
        ang = torch.arange(max_len).unsqueeze(1) / (10000 ** (i / d_model))
        enc = torch.zeros(max_len, d_model)
        enc[:, 0::2], enc[:, 1::2] = torch.sin(ang), torch.cos(ang[:, : d_model // 2])
        self.register_buffer("enc", enc)

    def forward(self, x):
        x = x * self.scale
        n = x.size(1)
        if n > self.enc.size(0):
            raise ValueError("too long")
        return nn.functional.dropout(x + self.enc[:n], p=0.1, training=self.training)
