import torch
from torch import nn
from grader.given import MultiHeadSelfAttention


def feed_forward(d_model, d_ff):
    wide, narrow = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
    return lambda x: narrow(torch.relu(wide(x)))


class EncoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__()
        self.self_attn = MultiHeadSelfAttention(d_model, num_heads)
        self.ff = feed_forward(d_model, d_ff)
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, pad_mask=None):
        x = self.norm1(x + self.dropout(self.self_attn(x, pad_mask=pad_mask)))
        return self.norm2(x + self.dropout(self.ff(x)))
