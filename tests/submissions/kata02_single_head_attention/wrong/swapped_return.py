import math
import torch
from torch import nn


def scaled_dot_product_attention(q, k, v, mask=None):
    attention = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(q.size(-1))
    if mask is not None:
        attention = attention.masked_fill(mask == 0, float("-inf"))
    attention = nn.functional.softmax(attention, dim=-1)
    return attention, torch.matmul(attention, v)


class SingleHeadAttention(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.Wq = nn.Linear(d_model, d_model)
        self.Wk = nn.Linear(d_model, d_model)
        self.Wv = nn.Linear(d_model, d_model)
        self.Wo = nn.Linear(d_model, d_model)

    def forward(self, x, causal_mask=None, pad_mask=None):
        if pad_mask is not None:
            pad_mask = pad_mask[:, None, :]
            mask = pad_mask if causal_mask is None else causal_mask & pad_mask
        else:
            mask = causal_mask
        attention, out = scaled_dot_product_attention(self.Wq(x), self.Wk(x), self.Wv(x), mask)
        return self.Wo(out)
