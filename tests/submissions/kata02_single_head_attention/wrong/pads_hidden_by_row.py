import torch
from torch import nn
import torch.nn.functional as F


def scaled_dot_product_attention(q, k, v, mask=None):
    w = F.softmax(
        ((q / q.size(-1) ** 0.5) @ k.transpose(-2, -1)).masked_fill(
            torch.zeros((), dtype=torch.bool, device=q.device) if mask is None else ~mask, -torch.inf
        ),
        dim=-1,
    )
    return w @ v, w


class SingleHeadAttention(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.q = nn.Linear(d_model, d_model)
        self.k = nn.Linear(d_model, d_model)
        self.v = nn.Linear(d_model, d_model)
        self.o = nn.Linear(d_model, d_model)

    def forward(self, x, causal_mask=None, pad_mask=None):
        e = self.q(x) @ self.k(x).transpose(1, 2) / x.size(2) ** 0.5
        if pad_mask is not None:
            e = e.masked_fill(~pad_mask.unsqueeze(2), -1e9)
        if causal_mask is not None:
            e = e.masked_fill(~causal_mask, -1e9)
        return self.o(F.softmax(e, dim=-1) @ self.v(x))
