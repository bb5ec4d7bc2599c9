import torch
import torch.nn as nn


class MultiHeadCrossAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super(MultiHeadCrossAttention, self).__init__()
        self.heads = num_heads
        self.head_dim = d_model // num_heads
        assert self.head_dim * num_heads == d_model
        self.values = nn.Linear(self.head_dim, self.head_dim)
        self.keys = nn.Linear(self.head_dim, self.head_dim)
        self.queries = nn.Linear(self.head_dim, self.head_dim)
        self.fc_out = nn.Linear(num_heads * self.head_dim, d_model)

    def forward(self, x, memory, pad_mask=None):
        N, L, D = x.shape
        q = self.queries(x.reshape(N, L, self.heads, self.head_dim))
        k = self.keys(memory.reshape(N, -1, self.heads, self.head_dim))
        v = self.values(memory.reshape(N, -1, self.heads, self.head_dim))
        e = torch.einsum("nqhd,nkhd->nhqk", [q, k]) / self.head_dim ** 0.5
        if pad_mask is not None:
            e = e.masked_fill(~pad_mask[:, None, None, :], float("-1e20"))
        return self.fc_out(torch.einsum("nhqk,nkhd->nqhd", [e.softmax(3), v]).reshape(N, L, D))
