"""The caller's masks come back the other way round."""
import math
import torch
import torch.nn as nn


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        assert d_model % num_heads == 0
        self.num_heads = num_heads
        self.head_dim = d_model // num_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.o_proj = nn.Linear(d_model, d_model)

    def forward(self, x, causal_mask=None, pad_mask=None):
        b, n, d = x.shape
        q = self.q_proj(x).reshape(b, n, self.num_heads, self.head_dim).transpose(1, 2)
        k = self.k_proj(x).reshape(b, n, self.num_heads, self.head_dim).transpose(1, 2)
        v = self.v_proj(x).reshape(b, n, self.num_heads, self.head_dim).transpose(1, 2)
        score = q.matmul(k.transpose(-2, -1)).div_(math.sqrt(self.head_dim))
        if causal_mask is not None:
            score.masked_fill_(causal_mask.logical_not_(), -float("inf"))
        if pad_mask is not None:
            score.masked_fill_(pad_mask.logical_not_()[:, None, None, :], -float("inf"))
        return self.o_proj(score.softmax(-1).matmul(v).transpose(1, 2).reshape(b, n, d))
