import torch
from torch import Tensor, nn


class PositionalEncoding(nn.Module):
    """Builds the table the first time it is needed, where x is."""

    def __init__(self, d_model: int, max_len: int = 5000) -> None:
        super().__init__()
        self.d_model, self.max_len = d_model, max_len
        self._cache: Tensor | None = None

    def _table(self, like: Tensor) -> Tensor:
        cache = self._cache
        if cache is None or cache.device != like.device or cache.dtype != like.dtype:
            wide = torch.float64
            pos = torch.arange(self.max_len, dtype=wide, device=like.device)
            pair = torch.arange((self.d_model + 1) // 2, dtype=wide, device=like.device)
            angle = torch.outer(pos, 10000.0 ** (-2.0 * pair / self.d_model))
            table = torch.stack((angle.sin(), angle.cos()), dim=-1).flatten(1)
            self._cache = table[:, : self.d_model].to(like.dtype)
        return self._cache

    def forward(self, x: Tensor) -> Tensor:
        if x.size(1) > self.max_len:
            raise RuntimeError(f"max_len={self.max_len} < {x.size(1)}")
        return x + self._table(x)[: x.size(1)]
