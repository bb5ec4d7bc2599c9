import math

import torch
import torch.nn as nn


class Attention(nn.Module):
    def __init__(self, p=0.1):
        super().__init__()
        self.dropout = nn.Dropout(p)

    def forward(self, query, key, value, mask=None):
        scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(query.size(-1))
        if mask is not None:
            scores = scores.masked_fill(mask == 0, -1e9)
        return torch.matmul(self.dropout(scores.softmax(dim=-1)), value)


layer = Attention().eval()


def attention(q, k, v, mask=None):
    return layer(q, k, v, mask)
