import torch
import torch.nn as nn
from grader.given import MultiHeadCrossAttention, MultiHeadSelfAttention


def causal_mask(length, device=None):
    return torch.tril(torch.ones(length, length, dtype=torch.bool, device=device))


class DecoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__()
        self.self_attention = MultiHeadSelfAttention(d_model, num_heads)
        self.cross_attention = MultiHeadCrossAttention(d_model, num_heads)
        self.ffn = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        self.norm3 = nn.LayerNorm(d_model)
        self.dropout1 = nn.Dropout(dropout)
        self.dropout2 = nn.Dropout(dropout)

    def forward(self, x, memory, causal_mask=None, pad_mask=None, memory_pad_mask=None):
        attn = self.dropout1(self.self_attention(x, causal_mask, pad_mask))
        out1 = self.norm1(attn + x)
        cross = self.dropout2(self.cross_attention(out1, memory, memory_pad_mask))
        out2 = self.norm2(cross + out1)
        ffn = self.dropout2(self.ffn(out2))
        out3 = self.norm3(ffn + out2)
        return out2
