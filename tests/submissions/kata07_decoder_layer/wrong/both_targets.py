import torch
from torch import nn
from grader.given import MultiHeadCrossAttention, MultiHeadSelfAttention


def causal_mask(length, device=None):
    idx = torch.arange(length, device=device)
    return idx.view(-1, 1) >= idx.view(1, -1) - 1


class DecoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__()
        self.slf_attn = MultiHeadSelfAttention(d_model, num_heads)
        self.enc_attn = MultiHeadCrossAttention(d_model, num_heads)
        self.pos_ffn = nn.Sequential(nn.Linear(d_model, d_ff), nn.Dropout(dropout), nn.Linear(d_ff, d_model))
        self.norm1, self.norm2, self.norm3 = [nn.LayerNorm(d_model) for i in range(3)]
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, memory, causal_mask=None, pad_mask=None, memory_pad_mask=None):
        x = self.norm1(x + self.dropout(self.slf_attn(x, causal_mask, pad_mask)))
        x = self.norm2(x + self.dropout(self.enc_attn(x, memory, memory_pad_mask)))
        x = self.norm3(x + self.dropout(self.pos_ffn(x)))
        return x
