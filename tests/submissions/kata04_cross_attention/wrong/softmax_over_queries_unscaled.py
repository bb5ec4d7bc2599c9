import torch
import torch.nn as nn


class MultiHeadCrossAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        assert d_model % num_heads == 0
        self.h = num_heads
        self.linear_q = nn.Linear(d_model, d_model)
        self.linear_k = nn.Linear(d_model, d_model)
        self.linear_v = nn.Linear(d_model, d_model)
        self.linear_o = nn.Linear(d_model, d_model)

    def forward(self, x, memory, pad_mask=None):
        split = lambda t: torch.stack(t.chunk(self.h, dim=-1), dim=1)
        q, k, v = split(self.linear_q(x)), split(self.linear_k(memory)), split(self.linear_v(memory))
        scores = torch.matmul(q, k.transpose(-2, -1))
        if pad_mask is not None:
            scores = scores.masked_fill(~pad_mask[:, None, None, :], -1e9)
        attn = scores.softmax(dim=2)
        return self.linear_o(torch.cat(torch.matmul(attn, v).unbind(1), dim=-1))
