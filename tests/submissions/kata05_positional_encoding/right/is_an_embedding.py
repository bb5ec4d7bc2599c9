import math

import torch
import torch.nn as nn


class PositionalEncoding(nn.Embedding):
    """Like BART: the module is the table."""

    def __init__(self, d_model: int, max_len: int = 5000) -> None:
        super().__init__(max_len, d_model)
        with torch.no_grad():
            for dim in range(d_model):
                freq = math.exp(-math.log(10000.0) * (dim - dim % 2) / d_model)
                column = torch.arange(max_len) * freq
                self.weight[:, dim] = column.cos() if dim % 2 else column.sin()
        self.weight.requires_grad_(False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        pos = torch.arange(x.shape[1], dtype=torch.long, device=self.weight.device)
        return x + super().forward(pos)
