import torch
from torch import nn


def scaled_dot_product_attention(q, k, v, mask=None):
    batch, n_queries, d = q.shape
    logits = torch.bmm(q, k.transpose(1, 2)) / (d ** 0.5)
    if mask is not None:
        logits = logits.masked_fill(~mask, float("-inf"))
    p = logits.softmax(dim=-1)
    return torch.bmm(p, v), p


class SingleHeadAttention(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.toq = nn.Linear(d_model, d_model)
        self.tok = nn.Linear(d_model, d_model)
        self.tov = nn.Linear(d_model, d_model)
        self.too = nn.Linear(d_model, d_model)

    def forward(self, x, causal_mask=None, pad_mask=None):
        if causal_mask is None and pad_mask is None:
            mask = None
        elif causal_mask is None:
            mask = pad_mask[:, None, :]
        elif pad_mask is None:
            mask = causal_mask[None]
        else:
            mask = torch.logical_or(causal_mask[None], pad_mask[:, None, :])
        y, _ = scaled_dot_product_attention(self.toq(x), self.tok(x), self.tov(x), mask)
        return self.too(y)
