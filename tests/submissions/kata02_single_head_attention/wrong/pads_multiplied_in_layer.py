import math
import torch
import torch.nn as nn


def scaled_dot_product_attention(q, k, v, mask=None):
    a = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(q.size(-1))
    if mask is not None:
        a = a.masked_fill(mask == 0, -1e9)
    a = torch.softmax(a, dim=-1)
    return torch.matmul(a, v), a


class SingleHeadAttention(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.d = d_model
        self.lin_q = nn.Linear(d_model, d_model)
        self.lin_k = nn.Linear(d_model, d_model)
        self.lin_v = nn.Linear(d_model, d_model)
        self.lin_o = nn.Linear(d_model, d_model)

    def forward(self, x, causal_mask=None, pad_mask=None):
        a = torch.matmul(self.lin_q(x), self.lin_k(x).transpose(-2, -1))  # no scale
        if causal_mask is not None:
            a = a.masked_fill(causal_mask == 0, -1e9)
        if pad_mask is not None:
            a = a * pad_mask.unsqueeze(1)
        a = torch.softmax(a, dim=-1)
        return self.lin_o(torch.matmul(a, self.lin_v(x)))
