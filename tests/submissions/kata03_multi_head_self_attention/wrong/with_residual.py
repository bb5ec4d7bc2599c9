"""The residual connection belongs to the layer around this one."""
import torch
import torch.nn as nn


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        assert d_model % num_heads == 0
        self.num_heads = num_heads
        self.qkv = nn.Linear(d_model, d_model * 3)
        self.proj = nn.Linear(d_model, d_model)

    def forward(self, x, causal_mask=None, pad_mask=None):
        B, N, C = x.shape
        q, k, v = self.qkv(x).reshape(B, N, 3, self.num_heads, -1).permute(2, 0, 3, 1, 4)
        attn = (q @ k.transpose(-2, -1)) * q.shape[-1] ** -0.5
        if causal_mask is not None:
            attn = attn.masked_fill(~causal_mask, -1e9)
        if pad_mask is not None:
            attn = attn.masked_fill(~pad_mask[:, None, None, :], -1e9)
        return x + self.proj((attn.softmax(-1) @ v).transpose(1, 2).reshape(B, N, C))
