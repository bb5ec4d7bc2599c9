import math

import torch
from torch import nn


class MultiHeadCrossAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        if d_model % num_heads:
            raise ValueError("d_model % num_heads != 0")
        self.heads = num_heads
        self.Wq = nn.Linear(d_model, d_model)
        self.Wk = nn.Linear(d_model, d_model)
        self.Wv = nn.Linear(d_model, d_model)
        self.Wo = nn.Linear(d_model, d_model)

    def forward(self, x, memory, pad_mask=None):
        def heads(t):
            b, n, d = t.shape
            return t.view(b, n, self.heads, d // self.heads).permute(0, 2, 1, 3)

        q, k, v = heads(self.Wq(x)), heads(self.Wk(memory)), heads(self.Wv(x))
        s = q.matmul(k.permute(0, 1, 3, 2)) / math.sqrt(q.shape[-1])
        if pad_mask is not None:
            s = s + torch.zeros_like(pad_mask, dtype=s.dtype).masked_fill(~pad_mask, float("-inf"))[:, None, None, :]
        y = s.softmax(-1).matmul(v)
        return self.Wo(y.permute(0, 2, 1, 3).flatten(2))
