import torch
import torch.nn as nn
import torch.nn.functional as F


class MultiHeadCrossAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        assert d_model % num_heads == 0
        self.embed_dim, self.num_heads = d_model, num_heads
        self.scale = d_model ** 0.5
        self.proj_q = nn.Linear(d_model, d_model)
        self.proj_k = nn.Linear(d_model, d_model)
        self.proj_v = nn.Linear(d_model, d_model)
        self.proj_out = nn.Linear(d_model, d_model)

    def forward(self, x, memory, pad_mask=None):
        Q = self.proj_q(x).unflatten(2, (self.num_heads, -1))
        K = self.proj_k(memory).unflatten(2, (self.num_heads, -1))
        V = self.proj_v(memory).unflatten(2, (self.num_heads, -1))
        score = torch.einsum("blhd,bshd->bhls", Q, K) / self.scale
        attn = F.softmax(score, dim=-1)
        if pad_mask is not None:
            attn = attn.masked_fill(~pad_mask[:, None, None, :], 0)
        ctx = torch.einsum("bhls,bshd->blhd", attn, V).flatten(2)
        return self.proj_out(ctx)
