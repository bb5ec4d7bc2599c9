import torch
import torch.nn as nn
import torch.nn.functional as F


def scaled_dot_product_attention(q, k, v, mask=None):
    dim_k = q.size(-1)
    scores = torch.matmul(q, k.transpose(-2, -1)) / dim_k ** 0.5
    if mask:
        scores = scores.masked_fill(mask == 0, -float("inf"))
    weights = F.softmax(scores, dim=-1)
    return torch.matmul(weights, v), weights


class SingleHeadAttention(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.q = nn.Linear(d_model, d_model)
        self.k = nn.Linear(d_model, d_model)
        self.v = nn.Linear(d_model, d_model)
        self.out = nn.Linear(d_model, d_model)

    def forward(self, x, causal_mask=None, pad_mask=None):
        mask = causal_mask
        if pad_mask is not None:
            mask = pad_mask[:, None] if mask is None else mask & pad_mask[:, None]
        return self.out(scaled_dot_product_attention(self.q(x), self.k(x), self.v(x), mask=mask)[0])
