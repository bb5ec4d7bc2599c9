from __future__ import annotations

from typing import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class ResidualBlock(nn.Module):
    gain: nn.Parameter
    shift: nn.Parameter

    def __init__(self, d_model: int, sublayer: Callable[..., Tensor], dropout: float = 0.0, norm_first: bool = False) -> None:
        super().__init__()
        self.d_model, self.p, self.norm_first = d_model, dropout, norm_first
        self.gain = nn.Parameter(torch.ones(d_model))
        self.shift = nn.Parameter(torch.zeros(d_model))
        self.sublayer = sublayer

    def _normalise(self, x: Tensor) -> Tensor:
        return F.layer_norm(x, (self.d_model,), weight=self.gain, bias=self.shift, eps=1e-5)

    def forward(self, x: Tensor, *args: object, **kwargs: object) -> Tensor:
        change = self.sublayer(self._normalise(x) if self.norm_first else x, *args, **kwargs)
        change = F.dropout(change, p=self.p, training=self.training)
        out = torch.add(change, x)
        return out if self.norm_first else self._normalise(out)
