"""Laid out like torch's own layer: three blocks, three dropouts."""
import torch
import torch.nn as nn
import torch.nn.functional as F

from grader.given import MultiHeadCrossAttention, MultiHeadSelfAttention


def causal_mask(length, device=None):
    return torch.tril(torch.ones((length, length), device=device)).bool()


class DecoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__()
        self.self_attn = MultiHeadSelfAttention(d_model, num_heads)
        self.multihead_attn = MultiHeadCrossAttention(d_model, num_heads)
        self.linear1 = nn.Linear(d_model, d_ff)
        self.dropout = nn.Dropout(dropout)
        self.linear2 = nn.Linear(d_ff, d_model)
        self.norm1 = nn.LayerNorm(d_model, eps=1e-5)
        self.norm2 = nn.LayerNorm(d_model, eps=1e-5)
        self.norm3 = nn.LayerNorm(d_model, eps=1e-5)
        self.dropout1 = nn.Dropout(dropout)
        self.dropout2 = nn.Dropout(dropout)
        self.dropout3 = nn.Dropout(dropout)
        self.activation = F.relu

    def forward(self, x, memory, causal_mask=None, pad_mask=None, memory_pad_mask=None):
        x = self.norm1(x + self._sa_block(x, causal_mask, pad_mask))
        x = self.norm2(x + self._mha_block(x, memory, memory_pad_mask))
        x = self.norm3(x + self._ff_block(x))
        return x

    def _sa_block(self, x, attn_mask, key_padding_mask):
        return self.dropout1(self.self_attn(x, causal_mask=attn_mask, pad_mask=key_padding_mask))

    def _mha_block(self, x, mem, key_padding_mask):
        return self.dropout2(self.multihead_attn(x, mem, pad_mask=key_padding_mask))

    def _ff_block(self, x):
        return self.dropout3(self.linear2(self.dropout(self.activation(self.linear1(x)))))
