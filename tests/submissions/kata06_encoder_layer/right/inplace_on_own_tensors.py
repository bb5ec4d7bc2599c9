import torch
from torch import nn, Tensor
from grader.given import MultiHeadSelfAttention


class EncoderLayer(nn.Module):
    """In place only where the tensor is nobody else's."""

    def __init__(self, d_model: int, num_heads: int, d_ff: int, dropout: float = 0.1):
        super().__init__()
        self.self_attention = MultiHeadSelfAttention(d_model, num_heads)
        self.self_attention_norm = nn.LayerNorm(d_model)
        self.feed_forward = nn.Sequential(
            nn.Linear(d_model, d_ff), nn.ReLU(inplace=True), nn.Dropout(dropout), nn.Linear(d_ff, d_model), nn.Dropout(dropout)
        )
        self.feed_forward_norm = nn.LayerNorm(d_model)
        self.drop = nn.Dropout(dropout)

    def forward(self, x: Tensor, pad_mask: Tensor | None = None) -> Tensor:
        out = self.drop(self.self_attention(x, pad_mask=pad_mask))
        out += x
        out = self.self_attention_norm(out)
        update = self.feed_forward(out)
        update += out
        return self.feed_forward_norm(update)
