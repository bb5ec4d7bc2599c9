import torch
import torch.nn as nn
import torch.nn.functional as F


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        assert not d_model % num_heads
        self.num_heads = num_heads
        self.Q = nn.Linear(d_model, d_model)
        self.K = nn.Linear(d_model, d_model)
        self.V = nn.Linear(d_model, d_model)
        self.O = nn.Linear(d_model, d_model)

    def forward(self, x, causal_mask=None, pad_mask=None):
        B, L, D = x.shape
        H = self.num_heads
        q = self.Q(x).view(B, L, H, D // H).transpose(1, 2)
        k = self.K(x).view(B, L, H, D // H).transpose(1, 2)
        v = self.V(x).view(B, L, H, D // H).transpose(1, 2)
        sim = k @ q.transpose(-2, -1) / (D // H) ** 0.5
        p = F.softmax(sim, dim=-1)
        if causal_mask is not None:
            p = p.masked_fill(~causal_mask, 0.0)
        if pad_mask is not None:
            p = p.masked_fill(~pad_mask[:, None, None, :], 0.0)
        return self.O((p @ v).transpose(1, 2).reshape(B, L, D))
