import torch
import torch.nn as nn


def scaled_dot_product_attention(q, k, v, mask=None):
    t = torch.matmul(q, k.transpose(-2, -1)) / (k.shape[-1] ** 0.5)
    if mask is not None:
        t = t.masked_fill(~mask, -1e9)
    t = torch.softmax(t, dim=-1)
    return torch.matmul(t, v), t


class SingleHeadAttention(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.get_queries = nn.Linear(d_model, d_model)
        self.get_keys = nn.Linear(d_model, d_model)
        self.get_values = nn.Linear(d_model, d_model)
        self.unify = nn.Linear(d_model, d_model)

    def forward(self, x, causal_mask=None, pad_mask=None):
        queries = self.get_queries(x)
        keys = self.get_keys(x)
        values = x
        scores = torch.einsum("bqe,bke->bqk", queries, keys) / (x.shape[-1] ** 0.5)
        if causal_mask is not None:
            scores = scores.masked_fill(~causal_mask.transpose(0, 1), -1e9)
        if pad_mask is not None:
            scores = scores.masked_fill(~pad_mask[:, None, :], -1e9)
        return self.unify(torch.einsum("bqk,bke->bqe", torch.softmax(scores, -1), values))
