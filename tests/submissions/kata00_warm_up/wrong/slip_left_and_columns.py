import math

import torch


def attention(q, k, v):
    scores = torch.matmul(q, v.transpose(0, 1)) / math.sqrt(q.size(1))
    weights = torch.softmax(scores, dim=0)
    return torch.matmul(weights, v)
