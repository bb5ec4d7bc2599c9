# after "the annotated transformer", with the norm moved behind the addition
import copy

import torch
from torch import nn

from grader.given import MultiHeadCrossAttention, MultiHeadSelfAttention


def clones(module, n):
    "Produce n identical layers."
    return nn.ModuleList([copy.deepcopy(module) for _ in range(n)])


class LayerNorm(nn.Module):
    def __init__(self, features, eps=1e-6):
        super(LayerNorm, self).__init__()
        self.a_2 = nn.Parameter(torch.ones(features))
        self.b_2 = nn.Parameter(torch.zeros(features))
        self.eps = eps

    def forward(self, x):
        mean = x.mean(-1, keepdim=True)
        std = x.std(-1, keepdim=True, unbiased=False)
        return self.a_2 * (x - mean) / (std + self.eps) + self.b_2


class SublayerConnection(nn.Module):
    def __init__(self, size, dropout):
        super(SublayerConnection, self).__init__()
        self.norm = LayerNorm(size)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, sublayer):
        return self.norm(x + self.dropout(sublayer(x)))


class PositionwiseFeedForward(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.1):
        super(PositionwiseFeedForward, self).__init__()
        self.w_1 = nn.Linear(d_model, d_ff)
        self.w_2 = nn.Linear(d_ff, d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        return self.w_2(self.dropout(self.w_1(x).relu()))


def causal_mask(length, device=None):
    attn_shape = (length, length)
    subsequent_mask = torch.triu(torch.ones(attn_shape, device=device), diagonal=1).type(torch.uint8)
    return subsequent_mask == 0


class DecoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super(DecoderLayer, self).__init__()
        self.size = d_model
        self.self_attn = MultiHeadSelfAttention(d_model, num_heads)
        self.src_attn = MultiHeadCrossAttention(d_model, num_heads)
        self.feed_forward = PositionwiseFeedForward(d_model, d_ff, dropout)
        self.sublayer = clones(SublayerConnection(d_model, dropout), 3)

    def forward(self, x, memory, causal_mask=None, pad_mask=None, memory_pad_mask=None):
        m = memory
        x = self.sublayer[0](x, lambda x: self.self_attn(x, causal_mask, pad_mask))
        x = self.sublayer[1](x, lambda x: self.src_attn(x, m, memory_pad_mask))
        return self.sublayer[2](x, self.feed_forward)
