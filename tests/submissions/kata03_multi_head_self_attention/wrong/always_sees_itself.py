import math

import torch
import torch.nn as nn


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        assert d_model % num_heads == 0, "uneven heads"
        self.h, self.d_k = num_heads, d_model // num_heads
        self.w_q, self.w_k = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
        self.w_v, self.w_o = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)

    def forward(self, x, causal_mask=None, pad_mask=None):
        B, L, _ = x.shape
        q = self.w_q(x).view(B, L, self.h, self.d_k).transpose(1, 2)
        k = self.w_k(x).view(B, L, self.h, self.d_k).transpose(1, 2)
        v = self.w_v(x).view(B, L, self.h, self.d_k).transpose(1, 2)
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.d_k)
        if causal_mask is not None:
            # no token is ever hidden from itself, so that no row is empty
            hidden = ~causal_mask & ~torch.eye(L, dtype=torch.bool, device=x.device)
            scores = scores.masked_fill(hidden, float("-inf"))
        if pad_mask is not None:
            scores = scores.masked_fill(~pad_mask[:, None, None, :], float("-inf"))
        out = torch.softmax(scores, dim=-1) @ v
        return self.w_o(out.transpose(1, 2).contiguous().view(B, L, -1))
