import torch
import torch.nn as nn


class MultiHeadCrossAttention(nn.Module):
    # no masks are ever None inside: an all-True one stands in
    def __init__(self, d_model, num_heads):
        super().__init__()
        if num_heads < 1 or d_model % num_heads:
            raise AssertionError("d_model must be divisible by num_heads")
        self.num_heads = num_heads
        self.head_dim = d_model // num_heads
        self.queries = nn.Linear(d_model, d_model, bias=False)
        self.keys = nn.Linear(d_model, d_model, bias=False)
        self.values = nn.Linear(d_model, d_model, bias=False)
        self.fc_out = nn.Linear(d_model, d_model, bias=False)

    def forward(self, x, memory, pad_mask=None):
        N, query_len, _ = x.shape
        value_len = key_len = memory.shape[1]
        if pad_mask is None:
            pad_mask = x.new_ones(N, key_len, dtype=torch.bool)

        values = self.values(memory).reshape(N, value_len, self.num_heads, self.head_dim)
        keys = self.keys(memory).reshape(N, key_len, self.num_heads, self.head_dim)
        queries = self.queries(x).reshape(N, query_len, self.num_heads, self.head_dim)

        energy = torch.einsum("nqhd,nkhd->nhqk", [queries, keys])
        energy = energy.masked_fill(pad_mask[:, None, None, :] == 0, float("-1e20"))
        attention = torch.softmax(energy / (self.head_dim ** (1 / 2)), dim=3)
        out = torch.einsum("nhqk,nkhd->nqhd", [attention, values])
        return self.fc_out(out.reshape(N, query_len, self.num_heads * self.head_dim))
