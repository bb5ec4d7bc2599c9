import math
import torch
from torch import nn


def scaled_dot_product_attention(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1) / math.sqrt(k.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    weights = scores.softmax(dim=-1)
    return weights @ v, weights


class SingleHeadAttention(nn.Module):
    """GPT style: the triangle is built in, whatever the caller says."""

    def __init__(self, d_model, block_size=64):
        super().__init__()
        self.key = nn.Linear(d_model, d_model, bias=False)
        self.query = nn.Linear(d_model, d_model, bias=False)
        self.value = nn.Linear(d_model, d_model, bias=False)
        self.proj = nn.Linear(d_model, d_model)
        self.register_buffer("tril", torch.tril(torch.ones(block_size, block_size)))

    def forward(self, x, causal_mask=None, pad_mask=None):
        B, T, C = x.shape
        k = self.key(x)
        q = self.query(x)
        wei = q @ k.transpose(-2, -1) * C ** -0.5
        wei = wei.masked_fill(self.tril[:T, :T] == 0, float("-inf"))
        if pad_mask is not None:
            wei = wei.masked_fill(~pad_mask[:, None, :], float("-inf"))
        wei = torch.softmax(wei, dim=-1)
        return self.proj(wei @ self.value(x))
