import torch
from torch import nn
from grader.given import MultiHeadSelfAttention


class EncoderLayer(nn.Module):
    def __init__(self, d_model: int, num_heads: int, d_ff: int, dropout: float = 0.1) -> None:
        super().__init__()
        self.attention = MultiHeadSelfAttention(d_model, num_heads)
        self.norm_a = nn.LayerNorm(d_model)
        self.norm_b = nn.LayerNorm(d_model)
        self.expand = nn.Linear(d_model, d_ff)
        self.contract = nn.Linear(d_ff, d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, pad_mask=None):
        residual = x
        out = self.attention(x)  # TODO mask
        out = self.norm_a(residual + self.dropout(out))
        out = self.contract(torch.relu(self.expand(out)))
        return self.norm_b(residual + self.dropout(out))
