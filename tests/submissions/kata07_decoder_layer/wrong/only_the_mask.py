import torch
from torch import Tensor, nn

from grader.given import MultiHeadCrossAttention, MultiHeadSelfAttention


def causal_mask(length: int, device: torch.device | None = None) -> Tensor:
    return torch.ones(length, length, dtype=torch.bool, device=device).tril()


class DecoderLayer(nn.Module):
    def __init__(self, d_model: int, num_heads: int, d_ff: int, dropout: float = 0.1) -> None:
        super().__init__()
        # TODO 1: two attentions
        raise NotImplementedError

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        causal_mask: Tensor | None = None,
        pad_mask: Tensor | None = None,
        memory_pad_mask: Tensor | None = None,
    ) -> Tensor:
        # TODO 1: attend within x
        raise NotImplementedError
