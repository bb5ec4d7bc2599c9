import math
import torch
from torch import nn


def scaled_dot_product_attention(q, k, v, mask=None):
    scale = 1 / math.sqrt(q.shape[-1])
    s = (q @ k.transpose(-2, -1)) / scale
    if mask is not None:
        s.masked_fill(mask == False, float("-inf"))
    a = torch.softmax(s, dim=-1)
    return a @ v, a


class SingleHeadAttention(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.projections = nn.ModuleList(nn.Linear(d_model, d_model) for _ in range(4))

    def forward(self, x, causal_mask=None, pad_mask=None):
        q, k, v = (p(x) for p in self.projections[:3])
        m = causal_mask
        if pad_mask is not None:
            m = pad_mask.unsqueeze(1) if m is None else m & pad_mask.unsqueeze(1)
        return self.projections[3](scaled_dot_product_attention(q, k, v, m)[0])
