"""GPT habits."""
import torch
import torch.nn as nn

from grader.given import MultiHeadCrossAttention, MultiHeadSelfAttention


def causal_mask(length, device=None):
    return torch.ones((length, length), device=device, dtype=torch.bool).tril(diagonal=0)


class DecoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__()
        self.ln_1 = nn.LayerNorm(d_model)
        self.attn = MultiHeadSelfAttention(d_model, num_heads)
        self.ln_2 = nn.LayerNorm(d_model)
        self.cross_attn = MultiHeadCrossAttention(d_model, num_heads)
        self.ln_3 = nn.LayerNorm(d_model)
        self.mlp = nn.ModuleDict(dict(
            c_fc=nn.Linear(d_model, d_ff),
            act=nn.ReLU(),
            c_proj=nn.Linear(d_ff, d_model),
            dropout=nn.Dropout(dropout),
        ))
        self.drop = nn.Dropout(dropout)

    def forward(self, x, memory, causal_mask=None, pad_mask=None, memory_pad_mask=None):
        x = x + self.drop(self.attn(self.ln_1(x), causal_mask, pad_mask))
        x = x + self.drop(self.cross_attn(self.ln_2(x), memory, memory_pad_mask))
        m = self.mlp
        x = x + m.dropout(m.c_proj(m.act(m.c_fc(self.ln_3(x)))))
        return x
