import torch
import torch.nn as nn


def scaled_dot_product_attention(q, k, v, mask=None):
    s = torch.matmul(q, k.mT) / q.size(-1) ** 0.5
    if mask is not None:
        s = s.masked_fill(mask.logical_not(), -1e9)
    w = nn.Softmax()(s)
    return w @ v, w


class SingleHeadAttention(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.query = nn.Linear(d_model, d_model)
        self.key = nn.Linear(d_model, d_model)
        self.value = nn.Linear(d_model, d_model)
        self.out = nn.Linear(d_model, d_model)

    def forward(self, x, causal_mask=None, pad_mask=None):
        L = x.size(1)
        allowed = None
        if causal_mask is not None:
            allowed = torch.tril(torch.ones(L, L, dtype=torch.bool, device=x.device))
        if pad_mask is not None:
            real = pad_mask.unsqueeze(1)
            allowed = real if allowed is None else allowed & real
        out, _ = scaled_dot_product_attention(self.query(x), self.key(x), self.value(x), allowed)
        return self.out(out)
