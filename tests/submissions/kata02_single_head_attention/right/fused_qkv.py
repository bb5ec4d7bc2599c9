import math
import torch
import torch.nn as nn


def scaled_dot_product_attention(q, k, v, mask=None):
    d_k = q.size(-1)
    scores = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    p_attn = scores.softmax(dim=-1)
    return torch.matmul(p_attn, v), p_attn


class SingleHeadAttention(nn.Module):
    def __init__(self, d_model):
        super(SingleHeadAttention, self).__init__()
        self.to_qkv = nn.Linear(d_model, d_model * 3, bias=False)
        self.proj = nn.Linear(d_model, d_model, bias=False)

    def forward(self, x, causal_mask=None, pad_mask=None):
        q, k, v = self.to_qkv(x).chunk(3, dim=-1)
        mask = None
        if causal_mask is not None:
            mask = causal_mask.unsqueeze(0)
        if pad_mask is not None:
            pad = pad_mask.unsqueeze(1)
            mask = pad if mask is None else torch.logical_and(mask, pad)
        out, _ = scaled_dot_product_attention(q, k, v, mask)
        return self.proj(out)
