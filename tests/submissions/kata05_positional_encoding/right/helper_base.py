import abc
import math
from typing import Final

import torch
from torch import Tensor, nn

BASE: Final = 10_000.0


class _Encoding(nn.Module, abc.ABC):
    @abc.abstractmethod
    def codes(self, length: int) -> Tensor: ...

    def forward(self, x: Tensor) -> Tensor:
        return x + self.codes(x.size(-2)).unsqueeze(0)


class PositionalEncoding(_Encoding):
    bias: Tensor

    def __init__(self, d_model: int, max_len: int = 5000) -> None:
        super().__init__()
        table = torch.tensor(
            [
                [
                    (math.sin, math.cos)[j & 1](p * BASE ** (-(j & ~1) / d_model))
                    for j in range(d_model)
                ]
                for p in range(max_len)
            ],
        )
        self.register_buffer("bias", table)

    def codes(self, length: int) -> Tensor:
        return self.bias.index_select(0, torch.arange(length, device=self.bias.device))
