import math

import torch
import torch.nn as nn
import torch.nn.functional as F


def scaled_dot_product_attention(q, k, v, mask=None):
    d = q.shape[-1]
    attn = torch.matmul(q, torch.swapaxes(k, -1, -2)).div(math.sqrt(d))
    if mask is not None:
        attn = attn.masked_fill(torch.logical_not(mask), -float("inf"))
    attn = F.softmax(attn, dim=-1)
    out = torch.matmul(attn, v)
    return out, attn


class SingleHeadAttention(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.d_model = d_model
        for name in ("W_q", "W_k", "W_v", "W_o"):
            w = torch.empty(d_model, d_model)
            nn.init.xavier_uniform_(w)
            setattr(self, name, nn.Parameter(w))
            setattr(self, name.replace("W", "b"), nn.Parameter(torch.zeros(d_model)))

    def forward(self, x, causal_mask=None, pad_mask=None):
        q = x @ self.W_q + self.b_q
        k = x @ self.W_k + self.b_k
        v = x @ self.W_v + self.b_v
        mask = None
        if causal_mask is not None and pad_mask is not None:
            mask = causal_mask[None, :, :] * pad_mask[:, None, :]
        elif causal_mask is not None:
            mask = causal_mask[None, :, :]
        elif pad_mask is not None:
            mask = pad_mask[:, None, :]
        y, _ = scaled_dot_product_attention(q, k, v, mask=mask)
        return y @ self.W_o + self.b_o
