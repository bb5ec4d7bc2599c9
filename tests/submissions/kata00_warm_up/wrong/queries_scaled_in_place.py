import math

import torch


def attention(q, k, v):
    q /= math.sqrt(q.shape[-1])
    return torch.softmax(q @ k.T, dim=-1) @ v
