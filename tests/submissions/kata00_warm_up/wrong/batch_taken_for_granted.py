import math

import torch


def attention(q, k, v):
    scores = torch.matmul(q, k.transpose(1, 2)) / math.sqrt(q.size(-1))
    return torch.matmul(torch.softmax(scores, dim=-1), v)
