import torch.nn as nn
import torch.nn.functional as F


def attention(q, k, v):
    scores = q @ k.T / q.shape[-1]
    weights = nn.Dropout(0.1)(F.softmax(scores, dim=-1))
    return weights @ v
