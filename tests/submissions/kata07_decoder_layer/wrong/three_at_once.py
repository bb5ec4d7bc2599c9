import torch
import torch.nn as nn
from grader.given import MultiHeadCrossAttention, MultiHeadSelfAttention


def causal_mask(length, device=None):
    return torch.ones(length, length, device=device).tril().bool()


class DecoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__()
        self.attention = MultiHeadSelfAttention(d_model, num_heads)
        self.norm1 = nn.LayerNorm(d_model)
        self.dropout1 = nn.Dropout(dropout)
        self.enc_dec_attention = MultiHeadCrossAttention(d_model, num_heads)
        self.norm2 = nn.LayerNorm(d_model)
        self.dropout2 = nn.Dropout(dropout)
        self.linear_1 = nn.Linear(d_model, d_ff)
        self.linear_2 = nn.Linear(d_ff, d_model)
        self.norm3 = nn.LayerNorm(d_model)
        self.dropout3 = nn.Dropout(dropout)

    def forward(self, x, memory, causal_mask=None, pad_mask=None, memory_pad_mask=None):
        _x = x
        y = self.attention(x, causal_mask, pad_mask)
        y = self.norm1(_x + self.dropout1(y))
        z = self.enc_dec_attention(y, memory)
        z = self.norm1(y + self.dropout2(z))
        out = self.linear_2(torch.relu(self.linear_1(x)))
        return self.norm3(z + self.dropout3(out))
