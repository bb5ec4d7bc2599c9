import math
import torch
from torch import nn


def scaled_dot_product_attention(q, k, v, mask=None):
    scores = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(q.size(-1))
    if mask is not None:
        bias = torch.zeros(mask.shape).to(q.dtype)
        bias[mask == False] = -1e9
        scores = scores + bias
    weights = torch.softmax(scores, -1)
    return torch.matmul(weights, v), weights


class SingleHeadAttention(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.linear_q = nn.Linear(d_model, d_model)
        self.linear_k = nn.Linear(d_model, d_model)
        self.linear_v = nn.Linear(d_model, d_model)
        self.linear_o = nn.Linear(d_model, d_model)

    def forward(self, x, causal_mask=None, pad_mask=None):
        mask = causal_mask
        if pad_mask is not None:
            mask = pad_mask[:, None, :] if mask is None else pad_mask[:, None, :] & mask
        out, _ = scaled_dot_product_attention(
            self.linear_q(x), self.linear_k(x), self.linear_v(x), mask
        )
        return self.linear_o(out)
