import math

import torch


def attention(q, k, v):
    scores = q @ k.T / math.sqrt(q.shape[-1])
    weights = torch.softmax(scores.float(), dim=-1).type_as(scores)
    return weights @ v
