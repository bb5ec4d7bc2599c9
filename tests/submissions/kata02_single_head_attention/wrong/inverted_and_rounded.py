import math

import torch
import torch.nn as nn


def scaled_dot_product_attention(q, k, v, mask=None):
    """mask: True -> position is masked out"""
    scale = int(math.sqrt(k.shape[-1]))
    attn_logits = torch.matmul(q, k.transpose(-2, -1))
    attn_logits = attn_logits / scale
    if mask is not None:
        attn_logits = attn_logits.masked_fill(mask, -9e15)
    attention = attn_logits.softmax(-1)
    values = torch.matmul(attention, v)
    return values, attention


class SingleHeadAttention(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.qkv_proj = nn.Linear(d_model, 3 * d_model)
        self.o_proj = nn.Linear(d_model, d_model)

    def forward(self, x, causal_mask=None, pad_mask=None):
        q, k, v = torch.split(self.qkv_proj(x), x.shape[-1], dim=-1)
        mask = None
        if causal_mask is not None or pad_mask is not None:
            mask = torch.zeros(x.shape[0], x.shape[1], x.shape[1], dtype=torch.bool, device=x.device)
            if causal_mask is not None:
                mask = mask | ~causal_mask
            if pad_mask is not None:
                mask = mask | ~pad_mask.unsqueeze(1)
        values, _ = scaled_dot_product_attention(q, k, v, mask=mask)
        return self.o_proj(values)
