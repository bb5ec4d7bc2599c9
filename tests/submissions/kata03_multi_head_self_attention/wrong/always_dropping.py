import torch
import torch.nn as nn
import torch.nn.functional as F


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.1):
        super().__init__()
        assert d_model % num_heads == 0
        self.num_heads = num_heads
        self.d_k = d_model // num_heads
        self.dropout = dropout
        self.w_q = nn.Linear(d_model, d_model)
        self.w_k = nn.Linear(d_model, d_model)
        self.w_v = nn.Linear(d_model, d_model)
        self.w_o = nn.Linear(d_model, d_model)

    def forward(self, x, causal_mask=None, pad_mask=None):
        B, L, D = x.shape
        q = self.w_q(x).view(B, L, self.num_heads, self.d_k).transpose(1, 2)
        k = self.w_k(x).view(B, L, self.num_heads, self.d_k).transpose(1, 2)
        v = self.w_v(x).view(B, L, self.num_heads, self.d_k).transpose(1, 2)
        s = q @ k.transpose(-2, -1) / self.d_k ** 0.5
        if causal_mask is not None:
            s = s.masked_fill(causal_mask == False, -1e9)
        if pad_mask is not None:
            s = s.masked_fill(pad_mask.unsqueeze(1).unsqueeze(2) == False, -1e9)
        w = F.dropout(F.softmax(s, dim=-1), p=self.dropout)
        return self.w_o((w @ v).transpose(1, 2).reshape(B, L, D))
