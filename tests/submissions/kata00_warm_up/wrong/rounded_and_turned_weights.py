import math

import torch


def attention(q, k, v):
    scores = q @ k.T / int(math.sqrt(q.shape[-1]))
    weights = torch.softmax(scores, dim=-1)
    return weights.T @ v
