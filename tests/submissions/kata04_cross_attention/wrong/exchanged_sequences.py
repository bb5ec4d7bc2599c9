import torch
from torch import nn


class MultiHeadCrossAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        assert d_model % num_heads == 0
        self.num_heads = num_heads
        self.query = nn.Linear(d_model, d_model)
        self.key = nn.Linear(d_model, d_model)
        self.value = nn.Linear(d_model, d_model)
        self.dense = nn.Linear(d_model, d_model)

    def attend(self, key, query, value, mask):
        n, h = key.size(0), self.num_heads
        k = self.key(key).reshape(n, -1, h, key.size(2) // h).transpose(1, 2)
        q = self.query(query).reshape(n, -1, h, key.size(2) // h).transpose(1, 2)
        v = self.value(value).reshape(n, -1, h, key.size(2) // h).transpose(1, 2)
        a = q @ k.mT / k.size(-1) ** 0.5
        if mask is not None:
            a = a.masked_fill(~mask[:, None, None], -1e9)
        return (a.softmax(-1) @ v).transpose(1, 2).flatten(2)

    def forward(self, x, memory, pad_mask=None):
        return self.dense(self.attend(x, memory, x, pad_mask))
