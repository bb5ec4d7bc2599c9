import math

import torch


def attention(q, k, v):
    n, d = q.shape
    scores = torch.zeros(n, n, dtype=q.dtype)
    for i in range(n):
        for j in range(n):
            scores[i, j] = q[i] @ k[j] / math.sqrt(d)
    return torch.softmax(scores, dim=-1) @ v
