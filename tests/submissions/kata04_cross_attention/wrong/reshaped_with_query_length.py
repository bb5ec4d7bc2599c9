import torch
import torch.nn as nn
import torch.nn.functional as F


class MultiHeadCrossAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        assert d_model % num_heads == 0
        self.h = num_heads
        self.dk = d_model // num_heads
        self.q_linear = nn.Linear(d_model, d_model)
        self.k_linear = nn.Linear(d_model, d_model)
        self.v_linear = nn.Linear(d_model, d_model)
        self.out = nn.Linear(d_model, d_model)

    def forward(self, x, memory, pad_mask=None):
        bs, seq_len = x.shape[0], x.shape[1]
        k = self.k_linear(memory).view(bs, seq_len, self.h, self.dk).transpose(1, 2)
        q = self.q_linear(x).view(bs, seq_len, self.h, self.dk).transpose(1, 2)
        v = self.v_linear(memory).view(bs, seq_len, self.h, self.dk).transpose(1, 2)
        scores = torch.matmul(q, k.transpose(-2, -1)) / self.dk ** 0.5
        if pad_mask is not None:
            scores = scores.masked_fill(pad_mask[:, None, None, :] == 0, -1e9)
        scores = F.softmax(scores, dim=-1)
        concat = torch.matmul(scores, v).transpose(1, 2).contiguous().view(bs, -1, self.h * self.dk)
        return self.out(concat)
