import torch
from torch import nn


class Head(nn.Module):
    def __init__(self, n_embd, head_size):
        super().__init__()
        self.key = nn.Linear(n_embd, head_size, bias=False)
        self.query = nn.Linear(n_embd, head_size, bias=False)
        self.value = nn.Linear(n_embd, head_size, bias=False)
        self.dropout = nn.Dropout(0.2)

    def forward(self, x, mask):
        k, q = self.key(x), self.query(x)
        wei = q @ k.transpose(-2, -1) * k.shape[-1] ** -0.5
        if mask is not None:
            wei = wei.masked_fill(mask == 0, float("-inf"))
        return self.dropout(torch.softmax(wei, -1)) @ self.value(x)


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        size, rest = divmod(d_model, num_heads)
        if rest:
            raise ValueError("uneven heads")
        self.heads = [Head(d_model, size) for _ in range(num_heads)]
        self.proj = nn.Linear(d_model, d_model)

    def forward(self, x, causal_mask=None, pad_mask=None):
        mask = None if causal_mask is None else causal_mask[None]
        if pad_mask is not None:
            pads = pad_mask[:, None]
            mask = pads if mask is None else mask & pads
        return self.proj(torch.cat([head(x, mask) for head in self.heads], -1))
