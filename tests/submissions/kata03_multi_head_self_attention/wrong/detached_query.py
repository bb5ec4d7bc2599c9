"""Not a known bug: right values, but nothing reaches the query's layer."""
import torch
import torch.nn as nn


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        assert d_model % num_heads == 0
        self.num_heads = num_heads
        self.queries = nn.Linear(d_model, d_model)
        self.keys = nn.Linear(d_model, d_model)
        self.values = nn.Linear(d_model, d_model)
        self.fc_out = nn.Linear(d_model, d_model)

    def forward(self, x, causal_mask=None, pad_mask=None):
        B, T, C = x.shape
        hs = C // self.num_heads
        q = torch.tensor(self.queries(x).tolist(), dtype=x.dtype).to(x.device)
        q = q.view(B, T, self.num_heads, hs).transpose(1, 2)
        k = self.keys(x).view(B, T, self.num_heads, hs).transpose(1, 2)
        v = self.values(x).view(B, T, self.num_heads, hs).transpose(1, 2)
        wei = q @ k.transpose(-2, -1) / hs ** 0.5
        if causal_mask is not None:
            wei = wei.masked_fill(causal_mask == 0, float("-inf"))
        if pad_mask is not None:
            wei = wei.masked_fill(pad_mask[:, None, None, :] == 0, float("-inf"))
        out = (wei.softmax(-1) @ v).transpose(1, 2).contiguous().view(B, T, C)
        return self.fc_out(out)
