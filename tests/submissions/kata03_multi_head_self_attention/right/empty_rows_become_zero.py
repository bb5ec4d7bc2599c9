import torch
from torch import nn


class MultiHeadSelfAttention(nn.Module):
    """Queries that see nothing return the bias of the output projection."""

    def __init__(self, d_model, num_heads):
        super().__init__()
        if d_model % num_heads:
            raise ValueError("uneven heads")
        self.num_heads, self.head_dim = num_heads, d_model // num_heads
        self.query = nn.Linear(d_model, d_model)
        self.key = nn.Linear(d_model, d_model)
        self.value = nn.Linear(d_model, d_model)
        self.output = nn.Linear(d_model, d_model)

    def forward(self, x, causal_mask=None, pad_mask=None):
        B, L, D = x.shape
        q, k, v = (
            layer(x).view(B, L, self.num_heads, self.head_dim).transpose(1, 2)
            for layer in (self.query, self.key, self.value)
        )
        scores = q @ k.mT / self.head_dim**0.5
        visible = torch.ones(1, 1, 1, L, dtype=torch.bool, device=x.device)
        if causal_mask is not None:
            visible = visible & causal_mask
        if pad_mask is not None:
            visible = visible & pad_mask[:, None, None, :]
        weights = scores.masked_fill(~visible, float("-inf")).softmax(dim=-1)
        weights = weights.masked_fill(~visible, 0.0)
        return self.output((weights @ v).transpose(1, 2).reshape(B, L, D))
