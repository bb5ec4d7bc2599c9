import torch
from torch import nn


class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000):
        super().__init__()
        pairs = -(-d_model // 2)
        omega = 1.0 / 10000.0 ** (torch.arange(pairs).double() * 2 / d_model)
        phase = torch.arange(max_len).double().unsqueeze(-1) * omega
        rot = torch.polar(torch.ones_like(phase), phase)  # cos + i sin
        both = torch.view_as_real(rot).flip(-1)  # sin, cos
        self.register_buffer("code", both.reshape(max_len, -1)[:, :d_model].to(torch.get_default_dtype()))
        self.limit = max_len

    def forward(self, x):
        _, length, _ = x.shape
        if not length <= self.limit:
            raise Exception("sequence is longer than max_len")
        return torch.add(x, self.code.narrow(0, 0, length))
