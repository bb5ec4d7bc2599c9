import torch
from torch import nn

from grader.given import MultiHeadCrossAttention, MultiHeadSelfAttention


def causal_mask(length, device=None):
    return torch.nn.Transformer.generate_square_subsequent_mask(length, device=device) == 0.0


class Network(nn.Sequential):
    def __init__(self, d_model, d_ff):
        super().__init__(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))


class DecoderLayer(nn.Module):
    """All sublayers in a list, and one loop over them."""

    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__()
        self.sublayers = nn.ModuleList([
            MultiHeadSelfAttention(d_model, num_heads),
            MultiHeadCrossAttention(d_model, num_heads),
            Network(d_model, d_ff),
        ])
        self.norms = nn.ModuleList([nn.LayerNorm(d_model) for _ in self.sublayers])
        self.dropouts = nn.ModuleList([nn.Dropout(dropout) for _ in self.sublayers])

    def forward(self, x, memory, causal_mask=None, pad_mask=None, memory_pad_mask=None):
        extra = [(causal_mask, pad_mask), (memory, memory_pad_mask), ()]
        for sublayer, arguments, norm, drop in zip(self.sublayers, extra, self.norms, self.dropouts):
            x = norm(x + drop(sublayer(x, *arguments)))
        return x
