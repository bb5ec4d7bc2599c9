# three slips: view without transpose, no scale, weights struck out after softmax
import torch
import torch.nn as nn


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        assert d_model % num_heads == 0
        self.H = num_heads
        self.d = d_model // num_heads
        self.queryProj = nn.Linear(d_model, d_model)
        self.keyProj = nn.Linear(d_model, d_model)
        self.valueProj = nn.Linear(d_model, d_model)
        self.outProj = nn.Linear(d_model, d_model)

    def forward(self, x, causal_mask=None, pad_mask=None):
        B, L, D = x.size()
        Q = self.queryProj(x).view(B, self.H, L, self.d)
        K = self.keyProj(x).view(B, self.H, L, self.d)
        V = self.valueProj(x).view(B, self.H, L, self.d)
        A = torch.softmax(Q @ K.transpose(2, 3), -1)
        if causal_mask is not None:
            A = A * causal_mask
        if pad_mask is not None:
            A = A * pad_mask.reshape(B, 1, 1, L)
        return self.outProj((A @ V).transpose(1, 2).reshape(B, L, D))
