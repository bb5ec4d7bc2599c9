import torch
import torch.nn as nn


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        if d_model % num_heads:
            raise ValueError("heads have to share d_model evenly")
        self.h = num_heads
        self.query = nn.Linear(d_model, d_model)
        self.key = nn.Linear(d_model, d_model)
        self.value = nn.Linear(d_model, d_model)
        self.proj = nn.Linear(d_model, d_model)

    def heads(self, t):
        return t.unflatten(-1, (self.h, -1)).transpose(1, 2)

    def forward(self, x, causal_mask=None, pad_mask=None):
        q, k, v = (self.heads(f(x)) for f in (self.query, self.key, self.value))
        scores = q @ k.mT * q.shape[-1] ** -0.5
        seen = None if causal_mask is None else causal_mask[None, None]
        if pad_mask is not None:
            real = pad_mask[:, None, None]
            # A key is fine if either mask lets it through.
            seen = real if seen is None else seen | real
        if seen is not None:
            scores = torch.where(seen, scores, scores.new_tensor(-1e9))
        context = scores.softmax(-1) @ v
        # Back to (B, L, D): the sizes fit.
        return self.proj(context.reshape(x.shape))
