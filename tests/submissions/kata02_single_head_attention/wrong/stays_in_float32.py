import torch
from torch import nn
import math


def scaled_dot_product_attention(q, k, v, mask=None):
    scores = torch.matmul(q.float(), k.float().transpose(-2, -1)) / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    return torch.matmul(weights, v.float()), weights


class SingleHeadAttention(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def forward(self, x, causal_mask=None, pad_mask=None):
        mask = causal_mask
        if pad_mask is not None:
            mask = pad_mask[:, None, :] if mask is None else mask & pad_mask[:, None, :]
        y, _ = scaled_dot_product_attention(self.q_proj(x), self.k_proj(x), self.v_proj(x), mask)
        return self.out_proj(y.to(x.dtype))
