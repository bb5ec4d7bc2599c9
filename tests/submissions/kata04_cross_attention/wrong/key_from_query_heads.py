import torch
from torch import nn


class MultiHeadCrossAttention(nn.Module):
    def __init__(self, d_model: int, num_heads: int) -> None:
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError("uneven")
        self.num_heads = num_heads
        self.to_q = nn.Linear(d_model, d_model, bias=False)
        self.to_k = nn.Linear(d_model, d_model, bias=False)
        self.to_v = nn.Linear(d_model, d_model, bias=False)
        self.to_out = nn.Linear(d_model, d_model)

    def forward(self, x, memory, pad_mask=None):
        q, k, v = self.to_q(x), self.to_k(memory), self.to_v(memory)
        qh = q.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
        kh = q.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
        vh = v.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
        sim = torch.einsum("bhid,bhjd->bhij", qh, kh) * qh.shape[-1] ** -0.5
        if pad_mask is not None:
            sim = sim.masked_fill(~pad_mask[:, None, None], -torch.inf)
        return self.to_out((sim.softmax(-1) @ vh).transpose(1, 2).flatten(2))
