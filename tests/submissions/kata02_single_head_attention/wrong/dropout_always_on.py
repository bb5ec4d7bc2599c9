import torch
from torch import nn
from torch.nn import functional as F


def scaled_dot_product_attention(q, k, v, mask=None, p=0.1):
    scores = torch.matmul(q, k.transpose(-2, -1)) / (q.size(-1) ** 0.5)
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    attn = F.dropout(F.softmax(scores, dim=-1), p)
    return torch.matmul(attn, v), attn


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
        return self.out_proj(y)
