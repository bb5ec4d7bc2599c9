# takes src first, tgt second, as in the annotated transformer's signature
import torch
from torch import nn
from grader.given import MultiHeadCrossAttention, MultiHeadSelfAttention


def causal_mask(length, device=None):
    return torch.triu(torch.ones(length, length, device=device), diagonal=1) == 0


class DecoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__()
        self.self_attn = MultiHeadSelfAttention(d_model, num_heads)
        self.src_attn = MultiHeadCrossAttention(d_model, num_heads)
        self.w_1 = nn.Linear(d_model, d_ff)
        self.w_2 = nn.Linear(d_ff, d_model)
        self.norms = nn.ModuleList([nn.LayerNorm(d_model) for _ in range(3)])
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, memory, causal_mask=None, pad_mask=None, memory_pad_mask=None):
        src_mask, tgt_mask = pad_mask, memory_pad_mask
        x = self.norms[0](x + self.dropout(self.self_attn(x, causal_mask, tgt_mask)))
        x = self.norms[1](x + self.dropout(self.src_attn(x, memory, src_mask)))
        return self.norms[2](x + self.dropout(self.w_2(self.w_1(x).relu())))
