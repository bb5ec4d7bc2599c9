"""Laid out like torch's own TransformerEncoderLayer."""

from typing import Optional

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor

from grader import given


class EncoderLayer(nn.Module):
    def __init__(
        self, d_model: int, num_heads: int, d_ff: int, dropout: float = 0.1, layer_norm_eps: float = 1e-5
    ) -> None:
        super(EncoderLayer, self).__init__()
        self.self_attn = given.MultiHeadSelfAttention(d_model, num_heads)
        # Implementation of Feedforward model
        self.linear1 = nn.Linear(d_model, d_ff)
        self.dropout = nn.Dropout(dropout)
        self.linear2 = nn.Linear(d_ff, d_model)

        self.norm1 = nn.LayerNorm(d_model, eps=layer_norm_eps)
        self.norm2 = nn.LayerNorm(d_model, eps=layer_norm_eps)
        self.dropout1 = nn.Dropout(dropout)
        self.dropout2 = nn.Dropout(dropout)

        self.activation = F.relu

    def forward(self, x: Tensor, pad_mask: Optional[Tensor] = None) -> Tensor:
        x = self.norm1(x + self._sa_block(x, pad_mask))
        x = self.norm2(x + self._ff_block(x))
        return x

    def _sa_block(self, x: Tensor, pad_mask: Optional[Tensor]) -> Tensor:
        x = self.self_attn(x, causal_mask=None, pad_mask=pad_mask)
        return self.dropout1(x)

    def _ff_block(self, x: Tensor) -> Tensor:
        x = self.linear2(self.dropout(self.activation(self.linear1(x))))
        return self.dropout2(x)
