"""torch's attention inside, so its masks are the other way round."""
import torch
from torch import nn


def causal_mask(length, device=None):
    return torch.logical_not(torch.ones(length, length, device=device, dtype=torch.bool).triu(1))


def flip(mask):
    return None if mask is None else mask.logical_not()


class DecoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__()
        kw = dict(dropout=dropout, batch_first=True)
        self.slf_attn = nn.MultiheadAttention(d_model, num_heads, **kw)
        self.enc_attn = nn.MultiheadAttention(d_model, num_heads, **kw)
        self.pos_ffn = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(inplace=True), nn.Linear(d_ff, d_model))
        self.norm_self, self.norm_cross, self.norm_ffn = (nn.LayerNorm(d_model, eps=1e-6) for _ in range(3))
        self.drop = nn.Dropout(dropout)

    def forward(self, x, memory, causal_mask=None, pad_mask=None, memory_pad_mask=None):
        a, _ = self.slf_attn(x, x, x, attn_mask=flip(causal_mask), key_padding_mask=flip(pad_mask), need_weights=False)
        x = self.norm_self(x + self.drop(a))
        a, _ = self.enc_attn(x, memory, memory, key_padding_mask=flip(memory_pad_mask))
        x = self.norm_cross(x + self.drop(a))
        return self.norm_ffn(x + self.drop(self.pos_ffn(x)))
