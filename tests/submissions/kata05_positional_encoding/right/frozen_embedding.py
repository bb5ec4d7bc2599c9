import math

import torch
from torch import nn


def sinusoid_table(n_position, d_hid):
    def angle(pos, j):
        return pos / math.pow(10000, 2 * (j // 2) / d_hid)

    rows = [
        [math.sin(angle(p, j)) if j % 2 == 0 else math.cos(angle(p, j)) for j in range(d_hid)]
        for p in range(n_position)
    ]
    return torch.tensor(rows)


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=5000):
        super().__init__()
        self.pos_emb = nn.Embedding.from_pretrained(sinusoid_table(max_len, d_model), freeze=True)

    def forward(self, x):
        positions = torch.arange(x.size(1), device=x.device).unsqueeze(0)
        return x + self.pos_emb(positions)
