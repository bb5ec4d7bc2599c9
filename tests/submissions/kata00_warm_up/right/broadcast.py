import math


def attention(q, k, v):
    scores = (q[:, None, :] * k[None, :, :]).sum(-1) / math.sqrt(q.shape[-1])
    weights = scores.softmax(-1)
    return (weights[:, :, None] * v[None]).sum(dim=1)
