import torch
import torch.nn.functional as F
from torch import nn


def scaled_dot_product_attention(q, k, v, mask=None):
    """Scores as cosines: normalised instead of scaled."""
    cos = F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).transpose(-2, -1)
    if mask is not None:
        cos = cos.masked_fill(~mask, float("-inf"))
    w = F.softmax(cos, dim=-1)
    return w @ v, w


class SingleHeadAttention(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.wq = nn.Linear(d_model, d_model)
        self.wk = nn.Linear(d_model, d_model)
        self.wv = nn.Linear(d_model, d_model)
        self.wo = nn.Linear(d_model, d_model)

    def forward(self, x, causal_mask=None, pad_mask=None):
        mask = causal_mask
        if pad_mask is not None:
            pad = pad_mask[:, None, :]
            mask = pad if mask is None else mask & pad
        out, _ = scaled_dot_product_attention(self.wq(x), self.wk(x), self.wv(x), mask)
        return self.wo(out)
