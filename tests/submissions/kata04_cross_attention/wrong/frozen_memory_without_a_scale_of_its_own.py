import torch
from torch import nn


class MultiHeadCrossAttention(nn.Module):
    """The encoder is pretrained, so its output counts as a constant here."""

    def __init__(self, d_model, num_heads):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(d_model, num_heads)
        self.num_heads = num_heads
        self.to_q = nn.Linear(d_model, d_model)
        self.to_kv = nn.Linear(d_model, 2 * d_model)
        self.to_out = nn.Linear(d_model, d_model)

    def forward(self, x, memory, pad_mask=None):
        key, value = self.to_kv(memory.detach()).chunk(2, dim=-1)
        q, k, v = (
            t.reshape(*t.shape[:2], self.num_heads, -1).movedim(2, 1)
            for t in (self.to_q(x), key, value)
        )
        scores = torch.einsum("bhid,bhjd->bhij", q, k) / k.shape[2] ** 0.5
        if pad_mask is not None:
            scores = scores.masked_fill(~pad_mask[:, None, None, :], -1e9)
        mixed = torch.einsum("bhij,bhjd->bihd", scores.softmax(-1), v)
        return self.to_out(mixed.flatten(2))
