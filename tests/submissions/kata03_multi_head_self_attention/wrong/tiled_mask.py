import torch
import torch.nn as nn


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        assert d_model % num_heads == 0
        self.num_heads = num_heads
        self.head_dim = d_model // num_heads
        self.in_proj = nn.Linear(d_model, 3 * d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def forward(self, x, causal_mask=None, pad_mask=None):
        bsz, n, dim = x.shape
        q, k, v = self.in_proj(x).chunk(3, -1)

        def fold(t):
            t = t.reshape(bsz, n, self.num_heads, self.head_dim).transpose(1, 2)
            return t.reshape(bsz * self.num_heads, n, self.head_dim)

        q, k, v = fold(q), fold(k), fold(v)
        w = torch.baddbmm(torch.zeros(bsz * self.num_heads, n, n, dtype=x.dtype, device=x.device), q, k.mT, alpha=self.head_dim ** -0.5)
        if causal_mask is not None:
            w = w.masked_fill(~causal_mask, float("-inf"))
        if pad_mask is not None:
            w = w.masked_fill(~pad_mask.unsqueeze(1).repeat(self.num_heads, 1, 1), float("-inf"))
        o = torch.bmm(w.softmax(-1), v)
        o = o.reshape(bsz, self.num_heads, n, self.head_dim).transpose(1, 2).reshape(bsz, n, dim)
        return self.out_proj(o)
