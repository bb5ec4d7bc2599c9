import torch
from torch import nn
import torch.nn.functional as F

def scaled_dot_product_attention(q, k, v, mask=None):
    s = torch.einsum("...ld,...sd->...ls", q, k) / q.shape[-1] ** 0.5
    if mask is not None:
        s = s.masked_fill(~mask, -float("inf"))
    s = s - s.max(dim=-1, keepdim=True)[0].detach()
    e = torch.exp(s)
    w = e / e.sum(-1, keepdim=True)
    return torch.einsum("...ls,...sv->...lv", w, v), w

class SingleHeadAttention(nn.Module):
    def __init__(self, d_model: int, p_drop: float = 0.1):
        super().__init__()
        self.d = d_model
        self.in_proj_weight = nn.Parameter(torch.randn(3 * d_model, d_model) / d_model ** 0.5)
        self.in_proj_bias = nn.Parameter(torch.zeros(3 * d_model))
        self.out_proj = nn.Linear(d_model, d_model)
        self.drop = nn.Dropout(p_drop)
    def forward(self, x, causal_mask=None, pad_mask=None):
        q, k, v = F.linear(x, self.in_proj_weight, self.in_proj_bias).split(self.d, -1)
        s = q.div(self.d ** .5) @ k.mT
        NEG = torch.finfo(s.dtype).min / 2
        if causal_mask is not None:
            s = s + (~causal_mask).to(s.dtype) * NEG
        if pad_mask is not None:
            s = s + (~pad_mask).to(s.dtype)[:, None, :] * NEG
        if self.training: k = k.detach(); s = s.detach()
        return self.out_proj(self.drop(F.softmax(s, -1)) @ v)
