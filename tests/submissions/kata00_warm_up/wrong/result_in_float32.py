import math

import torch


def attention(q, k, v):
    out = torch.zeros(q.shape, dtype=torch.float32, device=q.device)
    weights = torch.softmax(q @ k.T / math.sqrt(q.shape[-1]), dim=-1)
    for i, row in enumerate(weights):
        out[i] = row @ v
    return out
