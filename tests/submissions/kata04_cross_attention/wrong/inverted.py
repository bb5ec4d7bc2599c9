import torch
import torch.nn as nn


class MultiHeadCrossAttention(nn.Module):
    """Written against nn.MultiheadAttention's convention: True = ignore."""

    def __init__(self, d_model, num_heads):
        super().__init__()
        self.head_dim = d_model // num_heads
        self.num_heads = num_heads
        assert self.head_dim * num_heads == d_model
        self.in_proj_weight = nn.Parameter(torch.empty(3 * d_model, d_model))
        self.out_proj = nn.Linear(d_model, d_model, bias=False)
        nn.init.xavier_uniform_(self.in_proj_weight)

    def forward(self, x, memory, pad_mask=None):
        bsz, tgt, dim = x.shape
        wq, wk, wv = self.in_proj_weight.chunk(3)
        q = nn.functional.linear(x, wq) * self.head_dim ** -0.5
        k, v = nn.functional.linear(memory, wk), nn.functional.linear(memory, wv)
        q, k, v = (t.view(bsz, -1, self.num_heads, self.head_dim).transpose(1, 2) for t in (q, k, v))
        w = q @ k.transpose(-2, -1)
        if pad_mask is not None:
            w = w.masked_fill(pad_mask.unsqueeze(1).unsqueeze(2), float("-inf"))
        return self.out_proj((w.softmax(-1) @ v).transpose(1, 2).reshape(bsz, tgt, dim))
