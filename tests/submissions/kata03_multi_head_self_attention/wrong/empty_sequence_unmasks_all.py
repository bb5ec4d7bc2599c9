import torch
from torch import nn


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError("d_model % num_heads must be 0")
        self.heads = num_heads
        self.to_qkv = nn.Linear(d_model, d_model * 3, bias=False)
        self.to_out = nn.Linear(d_model, d_model)

    def forward(self, x, causal_mask=None, pad_mask=None):
        b, n, d = x.shape
        q, k, v = (
            t.reshape(b, n, self.heads, -1).transpose(1, 2) for t in self.to_qkv(x).chunk(3, dim=-1)
        )
        dots = torch.einsum("bhid,bhjd->bhij", q, k) * (d // self.heads) ** -0.5
        visible = torch.ones(b, 1, n, n, dtype=torch.bool, device=x.device)
        if causal_mask is not None:
            visible = visible & causal_mask
        if pad_mask is not None:
            visible = visible & pad_mask[:, None, None, :]
        # a row of -inf alone would give nan
        if visible.any(dim=-1).all():
            dots = dots.masked_fill(~visible, float("-inf"))
        out = torch.einsum("bhij,bhjd->bhid", dots.softmax(dim=-1), v)
        return self.to_out(out.transpose(1, 2).reshape(b, n, d))
