import torch
import torch.nn.functional as F
from torch import nn
from grader.given import MultiHeadCrossAttention, MultiHeadSelfAttention


def causal_mask(length, device=None):
    return torch.ones(length, length, device=device).tril().bool()


class DecoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__()
        self.p = dropout
        self.self_attn = MultiHeadSelfAttention(d_model, num_heads)
        self.cross_attn = MultiHeadCrossAttention(d_model, num_heads)
        self.ff = nn.ModuleList([nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)])
        self.norm_1 = nn.LayerNorm(d_model)
        self.norm_2 = nn.LayerNorm(d_model)
        self.norm_3 = nn.LayerNorm(d_model)

    def forward(self, x, memory, causal_mask=None, pad_mask=None, memory_pad_mask=None):
        x = self.norm_1(x + F.dropout(self.self_attn(x, causal_mask, pad_mask), self.p))
        x = self.norm_2(x + F.dropout(self.cross_attn(x, memory, memory_pad_mask), self.p))
        y = F.dropout(F.relu(self.ff[0](x)), self.p)
        return self.norm_3(x + F.dropout(self.ff[1](y), self.p))
