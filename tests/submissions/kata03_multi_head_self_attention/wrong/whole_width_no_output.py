import torch
from torch import nn


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        assert d_model % num_heads == 0
        self.heads = num_heads
        self.w_q = nn.Linear(d_model, d_model)
        self.w_k = nn.Linear(d_model, d_model)
        self.w_v = nn.Linear(d_model, d_model)
        self.w_o = nn.Linear(d_model, d_model)

    def split(self, t):
        return t.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def forward(self, x, causal_mask=None, pad_mask=None):
        q, k, v = (self.split(w(x)) for w in (self.w_q, self.w_k, self.w_v))
        scores = torch.einsum("bhid,bhjd->bhij", q, k) / x.size(-1) ** 0.5
        for mask in (causal_mask, None if pad_mask is None else pad_mask[:, None, None]):
            if mask is not None:
                scores = scores.masked_fill(mask.logical_not(), float("-inf"))
        return (scores.softmax(-1) @ v).transpose(1, 2).flatten(2)
