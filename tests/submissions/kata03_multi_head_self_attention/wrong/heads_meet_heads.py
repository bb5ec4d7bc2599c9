import torch
from torch import nn


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError("d_model % num_heads != 0")
        self.num_heads = num_heads
        self.head_dim = d_model // num_heads
        self.q = nn.Linear(d_model, d_model)
        self.k = nn.Linear(d_model, d_model)
        self.v = nn.Linear(d_model, d_model)
        self.o = nn.Linear(d_model, d_model)

    def forward(self, x, causal_mask=None, pad_mask=None):
        shape = (x.size(0), x.size(1), self.num_heads, self.head_dim)
        Q = self.q(x).reshape(shape)
        K = self.k(x).reshape(shape)
        V = self.v(x).reshape(shape)
        scores = Q @ K.transpose(-2, -1) / self.head_dim**0.5
        if causal_mask is not None:
            scores = scores.masked_fill(~causal_mask, float("-inf"))
        if pad_mask is not None:
            scores = scores.masked_fill(~pad_mask[:, None, None, :], float("-inf"))
        heads = torch.softmax(scores, dim=-1) @ V
        return self.o(heads.flatten(-2))
