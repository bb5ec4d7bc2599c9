import torch
import torch.nn as nn


class MultiHeadCrossAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        assert d_model % num_heads == 0
        self.num_heads = num_heads
        self.query = nn.Linear(d_model, d_model)
        self.key = nn.Linear(d_model, d_model)
        self.value = nn.Linear(d_model, d_model)
        self.out = nn.Linear(d_model, d_model)

    def forward(self, x, memory, pad_mask=None):
        B, L, D = x.shape
        d = D // self.num_heads
        q = self.query(x).reshape(B, L, self.num_heads, d).transpose(1, 2)
        k = self.key(memory).reshape(B, -1, self.num_heads, d).transpose(1, 2)
        v = self.value(memory).reshape(B, -1, self.num_heads, d).transpose(1, 2)
        s = q @ k.transpose(-2, -1) / d ** 0.5
        if pad_mask:
            s = s * pad_mask[:, None, None, :]
        return self.out((torch.softmax(s, -1) @ v).transpose(1, 2).reshape(B, L, D))
