import torch
import torch.nn as nn


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        assert d_model % num_heads == 0
        self.num_heads, self.head_dim = num_heads, d_model // num_heads
        self.attn_q = nn.Linear(d_model, d_model)
        self.attn_k = nn.Linear(d_model, d_model)
        self.attn_v = nn.Linear(d_model, d_model)
        self.attn_out = nn.Linear(d_model, d_model)

    def forward(self, x, causal_mask=None, pad_mask=None):
        b, l, d = x.shape
        shape = b, l, self.num_heads, self.head_dim
        q, v, k = self.attn_q(x), self.attn_k(x), self.attn_v(x)
        q, k, v = q.view(shape).transpose(1, 2), k.view(shape).transpose(1, 2), v.view(shape).transpose(1, 2)
        logits = q @ k.transpose(-2, -1) / self.head_dim ** 0.5
        if causal_mask is not None:
            logits = logits.masked_fill(~causal_mask, float("-inf"))
        elif pad_mask is not None:
            logits = logits.masked_fill(~pad_mask[:, None, None, :], float("-inf"))
        y = logits.softmax(-1) @ v
        return self.attn_out(y.transpose(1, 2).reshape(b, l, d))
