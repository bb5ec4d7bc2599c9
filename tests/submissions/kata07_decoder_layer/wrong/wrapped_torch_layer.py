import torch
from torch import nn


def causal_mask(length, device=None):
    return torch.ones(length, length, device=device).tril().bool()


def inv(m):
    return None if m is None else ~m


class DecoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__()
        self.layer = nn.TransformerDecoderLayer(d_model, num_heads, d_ff, dropout, batch_first=True)

    def forward(self, x, memory, causal_mask=None, pad_mask=None, memory_pad_mask=None):
        return self.layer(x, memory, tgt_mask=inv(causal_mask), tgt_key_padding_mask=inv(pad_mask),
                          memory_key_padding_mask=inv(memory_pad_mask))
