import torch
import torch.nn as nn


class MultiHeadSelfAttention(nn.Module):
    """Padded queries see nothing and give zeros."""

    def __init__(self, d_model, num_heads):
        super().__init__()
        assert d_model % num_heads == 0, "d_model % num_heads"
        self.num_heads = num_heads
        self.head_dim = d_model // num_heads
        self.query_projection = nn.Linear(d_model, d_model)
        self.key_projection = nn.Linear(d_model, d_model)
        self.value_projection = nn.Linear(d_model, d_model)
        self.output_projection = nn.Linear(d_model, d_model)

    def forward(self, x, causal_mask=None, pad_mask=None):
        B, L, D = x.shape
        allowed = torch.ones(B, L, L, dtype=torch.bool, device=x.device)
        if causal_mask is not None:
            allowed = allowed & causal_mask
        if pad_mask is not None:
            allowed = allowed & pad_mask[:, None, :] & pad_mask[:, :, None]
        split = lambda t: t.reshape(B, L, self.num_heads, self.head_dim).movedim(2, 1)
        q = split(self.query_projection(x))
        k = split(self.key_projection(x))
        v = split(self.value_projection(x))
        scores = q.matmul(k.swapaxes(-1, -2)).div(self.head_dim ** 0.5)
        scores.masked_fill_(~allowed.unsqueeze(1), -1e30)
        out = scores.softmax(-1).matmul(v).movedim(1, 2).reshape(B, L, D)
        out = self.output_projection(out)
        if pad_mask is not None:
            out = out * pad_mask.unsqueeze(-1)
        return out
