import torch
from torch import nn


class MultiHeadSelfAttention(nn.Module):
    """Returns (weights averaged over the heads, output)."""

    def __init__(self, d_model, num_heads):
        super().__init__()
        if d_model % num_heads:
            raise ValueError("num_heads must divide d_model")
        self.num_heads = num_heads
        self.projections = nn.ModuleDict(
            {name: nn.Linear(d_model, d_model) for name in ("query", "key", "value", "output")}
        )

    def forward(self, x, causal_mask=None, pad_mask=None):
        B, L, D = x.size()
        q, k, v = (
            self.projections[name](x).view(B, L, self.num_heads, -1).transpose(1, 2)
            for name in ("query", "key", "value")
        )
        scores = torch.matmul(q, k.transpose(-2, -1)).div(q.size(-1) ** 0.5)
        for mask in (causal_mask, None if pad_mask is None else pad_mask[:, None, None]):
            if mask is not None:
                scores = scores + torch.zeros(mask.shape, dtype=x.dtype, device=x.device).masked_fill(~mask, -1e9)
        weights = torch.softmax(scores, dim=-1)
        out = torch.matmul(weights, v).transpose(1, 2).reshape(B, L, D)
        return weights.mean(dim=1), self.projections["output"](out)
