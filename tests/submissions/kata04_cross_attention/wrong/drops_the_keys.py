import math

import torch
from torch import nn
from torch.nn import functional as F


class MultiHeadCrossAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        if d_model % num_heads:
            raise ValueError("d_model % num_heads")
        self.h = num_heads
        self.to_q = nn.Linear(d_model, d_model)
        self.to_k = nn.Linear(d_model, d_model)
        self.to_v = nn.Linear(d_model, d_model)
        self.to_out = nn.Linear(d_model, d_model)

    def forward(self, x, memory, pad_mask=None):
        q, k, v = (
            t.unflatten(-1, (self.h, -1)).transpose(1, 2)
            for t in (self.to_q(x), self.to_k(memory), self.to_v(memory))
        )
        k = F.dropout(k, 0.2, training=self.training)
        s = q @ k.mT / math.sqrt(q.shape[-1])
        if pad_mask is not None:
            s = s.masked_fill(~pad_mask[:, None, None], -torch.inf)
        return self.to_out((s.softmax(-1) @ v).transpose(1, 2).flatten(2))
