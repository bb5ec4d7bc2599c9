"""Masks as numbers that are added; in the layer before the scale, at that."""
import torch
from torch import nn

NEG = -1e9


def scaled_dot_product_attention(q, k, v, mask=None):
    s = (q @ k.mT) * q.shape[-1] ** -0.5
    if mask is not None:
        bias = torch.zeros(mask.shape, dtype=s.dtype, device=s.device)
        bias = bias.masked_fill(mask.logical_not(), float("-inf"))
        s = s + bias
    w = s.softmax(-1)
    return w @ v, w


class SingleHeadAttention(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.query = nn.Linear(d_model, d_model)
        self.key = nn.Linear(d_model, d_model)
        self.value = nn.Linear(d_model, d_model)
        self.output = nn.Linear(d_model, d_model)

    def forward(self, x, causal_mask=None, pad_mask=None):
        Q = self.query(x)
        K = self.key(x)
        V = self.value(x)
        scores = torch.einsum("bid,bjd->bij", Q, K)
        if causal_mask is not None:
            scores = scores + (1.0 - causal_mask.to(scores.dtype)) * NEG
        if pad_mask is not None:
            scores = scores + (1.0 - pad_mask.to(scores.dtype)).unsqueeze(1) * NEG
        scores = scores / (x.size(-1) ** 0.5)
        return self.output(torch.einsum("bij,bjd->bid", torch.softmax(scores, 2), V))
