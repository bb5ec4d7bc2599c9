import torch
import torch.nn as nn


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        assert d_model % num_heads == 0
        self.n, self.d = num_heads, d_model // num_heads
        self.qkv = [nn.Linear(d_model, d_model) for _ in range(3)]
        self.out = nn.Linear(d_model, d_model)

    def forward(self, x, causal_mask=None, pad_mask=None):
        b, l, _ = x.shape
        q, k, v = [p(x).view(b, l, self.n, self.d).transpose(1, 2) for p in self.qkv]
        s = q @ k.mT * self.d ** -0.5
        if causal_mask is not None:
            s = s.masked_fill(~causal_mask, -torch.inf)
        if pad_mask is not None:
            s = s.masked_fill(~pad_mask[:, None, None], -torch.inf)
        return self.out((s.softmax(-1) @ v).transpose(1, 2).flatten(2))
