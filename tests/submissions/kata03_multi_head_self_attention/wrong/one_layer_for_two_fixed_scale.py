import torch
from torch import nn


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        assert d_model % num_heads == 0
        self.num_heads = num_heads
        self.head_dim = d_model // num_heads
        self.query_layer = nn.Linear(d_model, d_model)
        self.key_layer = nn.Linear(d_model, d_model)
        self.value_layer = nn.Linear(d_model, d_model)
        self.output_layer = nn.Linear(d_model, d_model)

    def forward(self, x, causal_mask=None, pad_mask=None):
        batch, seq, features = x.shape
        q = self.query_layer(x)
        k = self.query_layer(x)
        v = self.value_layer(x)
        q = torch.stack(q.chunk(self.num_heads, -1), 1)
        k = torch.stack(k.chunk(self.num_heads, -1), 1)
        v = torch.stack(v.chunk(self.num_heads, -1), 1)
        scores = torch.einsum('...id,...jd->...ij', q, k) / 8
        if causal_mask is not None:
            scores = scores.masked_fill(~causal_mask, -1e9)
        if pad_mask is not None:
            scores = scores.masked_fill(~pad_mask[:, None, None, :], -1e9)
        att = scores.softmax(dim=-1)
        return self.output_layer(torch.cat((att @ v).unbind(1), -1))
