import torch
from torch import nn


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=5000):
        super().__init__()
        self.d_model = d_model
        self.max_len = max_len

    def forward(self, x):
        b, n, d = x.shape
        if n > self.max_len:
            raise IndexError("too long")
        pos = torch.arange(n, device=x.device, dtype=torch.float32)[:, None]
        j = torch.arange(d, device=x.device)
        exponent = 2 * torch.div(j, 2, rounding_mode="floor") / self.d_model
        angle = pos / torch.pow(10000.0, exponent)
        codes = torch.where(j % 2 == 0, torch.sin(angle), torch.cos(angle))
        return x + codes.to(x.dtype).expand(b, n, d)
