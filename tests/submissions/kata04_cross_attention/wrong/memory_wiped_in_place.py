"""Not a known bug: hidden tokens are wiped out in the caller's own memory."""
import torch
import torch.nn as nn


class MultiHeadCrossAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        assert d_model % num_heads == 0
        self.num_heads = num_heads
        self.w_q = nn.Linear(d_model, d_model)
        self.w_k = nn.Linear(d_model, d_model)
        self.w_v = nn.Linear(d_model, d_model)
        self.w_o = nn.Linear(d_model, d_model)

    def forward(self, x, memory, pad_mask=None):
        B, L, D = x.shape
        if pad_mask is not None:
            memory *= pad_mask.unsqueeze(-1)
        q = self.w_q(x).view(B, L, self.num_heads, -1).transpose(1, 2)
        k = self.w_k(memory).view(B, memory.size(1), self.num_heads, -1).transpose(1, 2)
        v = self.w_v(memory).view(B, memory.size(1), self.num_heads, -1).transpose(1, 2)
        s = q @ k.mT / q.size(-1) ** 0.5
        if pad_mask is not None:
            s = s.masked_fill(~pad_mask[:, None, None], float("-inf"))
        return self.w_o((s.softmax(-1) @ v).transpose(1, 2).reshape(B, L, D))
