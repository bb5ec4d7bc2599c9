import torch
from torch import nn, Tensor
from grader.given import MultiHeadSelfAttention


class EncoderLayer(nn.Module):
    def __init__(self, d_model: int, num_heads: int, d_ff: int, dropout: float = 0.1):
        super().__init__()
        self.mhsa = MultiHeadSelfAttention(d_model, num_heads)
        self.norm1 = nn.LayerNorm(d_model)
        self.linear1 = nn.Linear(d_model, d_ff)
        self.linear2 = nn.Linear(d_ff, d_model)
        self.norm2 = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, pad_mask: Tensor | None = None) -> Tensor:
        attn_out = self.dropout(self.mhsa(x, pad_mask=pad_mask))
        x1 = self.norm1(x + attn_out)
        ff_out = self.dropout(self.linear2(self.linear1(x1).relu()))
        x2 = self.norm2(x1 + ff_out)
        return x1
