import torch
import torch.nn as nn


class MultiHeadCrossAttention(nn.Module):
    """Slow and plain: one query after the other."""

    def __init__(self, d_model, num_heads):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError("no")
        self.num_heads = num_heads
        self.query_proj = nn.Linear(d_model, d_model)
        self.key_proj = nn.Linear(d_model, d_model)
        self.value_proj = nn.Linear(d_model, d_model)
        self.final_proj = nn.Linear(d_model, d_model)

    def forward(self, x, memory, pad_mask=None):
        b, s, d = memory.shape
        k = self.key_proj(memory).view(b, s, self.num_heads, -1)
        v = self.value_proj(memory).view(b, s, self.num_heads, -1)
        rows = []
        for i in range(x.shape[1]):
            q = self.query_proj(x[:, i]).view(b, 1, self.num_heads, -1)
            score = (q * k).sum(-1) / (d // self.num_heads) ** 0.5      # (b, s, h)
            if pad_mask is not None:
                score = score.masked_fill(~pad_mask.unsqueeze(-1), float("-inf"))
            weight = score.softmax(dim=1).unsqueeze(-1)
            rows.append((weight * v).sum(1).view(b, d))
        return self.final_proj(torch.stack(rows, dim=1))
