"""Not a known bug: the module that was to be written is imported."""
import torch
import torch.nn as nn


class MultiHeadCrossAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.mha = nn.MultiheadAttention(d_model, num_heads, batch_first=True)

    def forward(self, x, memory, pad_mask=None):
        hide = None if pad_mask is None else ~pad_mask
        out, _ = self.mha(x, memory, memory, key_padding_mask=hide)
        return out
