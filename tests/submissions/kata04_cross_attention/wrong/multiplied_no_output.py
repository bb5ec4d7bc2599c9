# interview attempt, 12 minutes
import torch
import torch.nn as nn


class MultiHeadCrossAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        assert d_model % num_heads == 0
        self.H = num_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.o_proj = nn.Linear(d_model, d_model)

    def forward(self, x, memory, pad_mask=None):
        B, L, D = x.shape
        S = memory.shape[1]
        d = D // self.H
        q = self.q_proj(x).view(B, L, self.H, d).transpose(1, 2)
        k = self.k_proj(memory).view(B, S, self.H, d).transpose(1, 2)
        v = self.v_proj(memory).view(B, S, self.H, d).transpose(1, 2)
        s = q @ k.transpose(2, 3) * d ** -0.5
        if pad_mask is not None:
            s = s * pad_mask.view(B, 1, 1, S)
        return (s.softmax(3) @ v).transpose(1, 2).reshape(B, L, D)
