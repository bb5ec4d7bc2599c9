import torch
import torch.nn as nn
import math


class MultiHeadCrossAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        assert d_model % num_heads == 0
        self.d_model = d_model
        self.num_heads = num_heads
        self.head_dim = d_model // num_heads
        self.W_q = nn.Linear(d_model, d_model)
        self.W_k = nn.Linear(d_model, d_model)
        self.W_v = nn.Linear(d_model, d_model)
        self.W_o = nn.Linear(d_model, d_model)

    def forward(self, x, memory, pad_mask=None):
        B = x.size(0)
        Q = self.W_q(x)
        K = self.W_k(memory)
        V = self.W_v(memory)
        Q_heads = Q.view(B, -1, self.num_heads, self.head_dim).transpose(1, 2)
        K_heads = Q.view(B, -1, self.num_heads, self.head_dim).transpose(1, 2)
        V_heads = Q.view(B, -1, self.num_heads, self.head_dim).transpose(1, 2)
        scores = torch.matmul(Q_heads, K_heads.transpose(-2, -1)) / math.sqrt(self.head_dim)
        if pad_mask is not None:
            scores = scores.masked_fill(pad_mask.unsqueeze(1).unsqueeze(2) == 0, float("-inf"))
        out = torch.softmax(scores, dim=-1) @ V_heads
        out = out.transpose(1, 2).contiguous().view(B, -1, self.d_model)
        return self.W_o(out)
