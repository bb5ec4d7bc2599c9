"""Weights by exp of log-probabilities, masks by log of 0 and 1, scale by a buffer."""
import torch
from torch import nn


def scaled_dot_product_attention(q, k, v, mask=None):
    logits = torch.tensordot(q, k, dims=([-1], [-1])) if q.dim() == 2 else torch.matmul(q, k.transpose(-2, -1))
    logits = logits / q.new_tensor(q.shape[-1]).sqrt()
    if mask is not None:
        logits = logits + mask.to(logits.dtype).log()
    weights = torch.log_softmax(logits, dim=-1).exp()
    return weights @ v, weights


class SingleHeadAttention(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.register_buffer("root", torch.tensor(float(d_model)).sqrt(), persistent=False)
        self.kv = nn.Linear(d_model, 2 * d_model)
        self.q = nn.Linear(d_model, d_model)
        self.combine = nn.Linear(d_model, d_model)

    def forward(self, x, causal_mask=None, pad_mask=None):
        k, v = self.kv(x).split(x.shape[-1], dim=-1)
        scores = self.q(x) @ k.transpose(-2, -1) / self.root
        hidden = torch.zeros_like(scores, dtype=torch.bool)
        if causal_mask is not None:
            hidden = hidden | ~causal_mask
        if pad_mask is not None:
            hidden = hidden | ~pad_mask[:, None, :]
        scores = scores.masked_fill(hidden, -1e9)
        return self.combine(torch.softmax(scores, dim=-1) @ v)
