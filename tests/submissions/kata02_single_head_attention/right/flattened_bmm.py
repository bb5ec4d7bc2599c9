import math
import torch
from torch import nn
from torch.nn import functional as F


def scaled_dot_product_attention(q, k, v, mask=None):
    """Any leading dimensions: fold them into one, use bmm, unfold."""
    *lead, L, d = q.shape
    S, dv = k.shape[-2], v.shape[-1]
    q3 = q.reshape(-1, L, d)
    k3 = k.reshape(-1, S, d)
    v3 = v.reshape(-1, S, dv)
    scores = torch.bmm(q3, k3.transpose(1, 2)).reshape(*lead, L, S)
    scores = scores.mul_(1 / math.sqrt(d))
    if mask is not None:
        scores = scores.masked_fill_(~mask, torch.finfo(scores.dtype).min)
    attn = F.softmax(scores, -1)
    out = torch.bmm(attn.reshape(-1, L, S), v3).reshape(*lead, L, dv)
    return out, attn


class SingleHeadAttention(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.keys = nn.Linear(d_model, d_model)
        self.queries = nn.Linear(d_model, d_model)
        self.values = nn.Linear(d_model, d_model)
        self.unify = nn.Linear(d_model, d_model)

    def forward(self, x, causal_mask=None, pad_mask=None):
        b, t, e = x.size()
        visible = torch.ones(b, t, t, dtype=torch.bool, device=x.device)
        if causal_mask is not None:
            visible = visible & causal_mask.expand(b, t, t)
        if pad_mask is not None:
            visible = visible & pad_mask[:, None, :].expand(b, t, t)
        return self.unify(scaled_dot_product_attention(self.queries(x), self.keys(x), self.values(x), visible)[0])
