import math, torch
from torch import nn
class MultiHeadSelfAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        if d_model % num_heads: raise ValueError("d_model % num_heads")
        self.H = num_heads; self.d = d_model // num_heads
        self.q = nn.Linear(d_model, d_model); self.k = nn.Linear(d_model, d_model)
        self.v = nn.Linear(d_model, d_model); self.o = nn.Linear(d_model, d_model)
    def split(self, t):
        B, L, D = t.shape
        return t.view(B, L, self.H, self.d).transpose(1, 2)
    def forward(self, x, causal_mask=None, pad_mask=None):
        B, L, D = x.shape
        q, k, v = self.split(self.q(x)), self.split(self.k(x)), self.split(self.v(x))
        s = q @ k.transpose(-2, -1) / math.sqrt(self.d)
        if causal_mask is not None: s = s.masked_fill(~causal_mask.tril(), -1e9)
        if pad_mask is not None: s = s.masked_fill(~pad_mask[:, None, None, :], -1e9)
        w = s.softmax(-1)
        y = (w @ v).transpose(1, 2).reshape(B, L, D)
        return self.o(y)
