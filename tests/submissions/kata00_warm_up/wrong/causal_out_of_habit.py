import math

import torch


def attention(q, k, v):
    n = q.shape[0]
    scores = q @ k.T / math.sqrt(q.shape[-1])
    mask = torch.tril(torch.ones(n, n, device=q.device))
    scores = scores.masked_fill(mask == 0, float("-inf"))
    return torch.softmax(scores, dim=-1) @ v
