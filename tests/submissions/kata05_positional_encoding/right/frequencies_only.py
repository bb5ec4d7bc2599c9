import torch
import torch.nn as nn


class PositionalEncoding(nn.Module):
    # keeps only the D/2 frequencies; angles are made at each call
    def __init__(self, d_model, max_len=5000):
        super().__init__()
        self.max_len = max_len
        self.register_buffer("inv_freq", 10000 ** -(torch.arange(0, d_model, 2) / d_model))

    def forward(self, x):
        L, D = x.shape[1:]
        if L > self.max_len:
            raise ValueError
        t = torch.arange(L, device=x.device).type_as(self.inv_freq)
        angles = t[:, None] * self.inv_freq[None, :]
        out = torch.empty_like(x)
        out[..., 0::2] = x[..., 0::2] + angles.sin()
        out[..., 1::2] = x[..., 1::2] + angles.cos()[:, : D // 2]
        return out
