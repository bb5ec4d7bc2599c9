import math
import torch
import torch.nn as nn


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        if d_model % num_heads:
            raise ValueError("num_heads must divide d_model")
        self.num_heads = num_heads
        self.query = nn.Linear(d_model, d_model)
        self.key = nn.Linear(d_model, d_model)
        self.value = nn.Linear(d_model, d_model)
        self.proj = nn.Linear(d_model, d_model)

    def _heads(self, t):
        b, n, c = t.shape
        return t.reshape(b, n, self.num_heads, c // self.num_heads).permute(0, 2, 1, 3)

    def forward(self, x, causal_mask=None, pad_mask=None):
        q = self._heads(self.query(x))
        k = self._heads(self.key(x))
        v = self._heads(self.key(x))  # pasted
        a = q @ k.permute(0, 1, 3, 2) / math.sqrt(q.shape[3])
        if causal_mask is not None:
            a = torch.where(causal_mask, a, float("-inf"))
        if pad_mask is not None:
            a = torch.where(pad_mask[:, None, None, :], a, float("-inf"))
        a = a.softmax(-1)
        return self.proj((a @ v).reshape(x.shape))
