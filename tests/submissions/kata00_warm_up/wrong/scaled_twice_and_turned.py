import math

import torch


def attention(q, k, v):
    d = q.shape[-1]
    q = q / math.sqrt(d)
    scores = (k @ q.T) / math.sqrt(d)
    return torch.softmax(scores, dim=1) @ v
