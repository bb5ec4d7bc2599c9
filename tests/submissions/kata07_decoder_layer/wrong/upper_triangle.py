import torch
import torch.nn as nn
import torch.nn.functional as F
from grader.given import MultiHeadCrossAttention, MultiHeadSelfAttention


def causal_mask(length, device=None):
    # ones where attention is blocked
    return torch.triu(torch.ones(length, length, device=device), diagonal=1).bool()


class DecoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__()
        self.mha1 = MultiHeadSelfAttention(d_model, num_heads)
        self.mha2 = MultiHeadCrossAttention(d_model, num_heads)
        self.ff = nn.Linear(d_model, d_ff)
        self.out = nn.Linear(d_ff, d_model)
        self.layernorm1 = nn.LayerNorm(d_model, eps=1e-6)
        self.layernorm2 = nn.LayerNorm(d_model, eps=1e-6)
        self.layernorm3 = nn.LayerNorm(d_model, eps=1e-6)
        self.dropout1 = nn.Dropout(dropout)
        self.dropout2 = nn.Dropout(dropout)
        self.dropout3 = nn.Dropout(dropout)

    def forward(self, x, memory, causal_mask=None, pad_mask=None, memory_pad_mask=None):
        attn1 = self.dropout1(self.mha1(x, causal_mask, pad_mask))
        out1 = self.layernorm1(attn1 + x)
        attn2 = self.dropout2(self.mha2(out1, memory, memory_pad_mask))
        out2 = self.layernorm2(attn2 + out1)
        ffn_output = self.dropout3(self.out(F.relu(self.ff(out2))))
        return self.layernorm3(ffn_output + out2)
