import torch
from torch import nn
from grader.given import MultiHeadCrossAttention, MultiHeadSelfAttention


def causal_mask(length, device=None):
    return torch.ones(length, length, device=device).tril().bool()


class DecoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__()
        self.self_attention = MultiHeadSelfAttention(d_model, num_heads)
        self.cross_attention = MultiHeadCrossAttention(d_model, num_heads)
        self.intermediate = nn.Linear(d_model, d_ff)
        self.output = nn.Linear(d_ff, d_model)
        self.ln_self = nn.LayerNorm(d_model)
        self.ln_cross = nn.LayerNorm(d_model)
        self.ln_ffn = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, memory, causal_mask=None, pad_mask=None, memory_pad_mask=None):
        residual = x
        x = self.self_attention(x, causal_mask, pad_mask) + residual
        x = self.ln_self(self.dropout(x))
        residual = x
        x = self.cross_attention(x, memory, memory_pad_mask) + residual
        x = self.ln_cross(self.dropout(x))
        residual = x
        x = self.output(torch.relu(self.intermediate(x))) + residual
        return self.ln_ffn(self.dropout(x))
