import torch.nn.functional as F


def attention(q, k, v):
    # F.linear(x, w) is x @ w.T
    weights = F.softmax(F.linear(q, k) * q.shape[-1] ** -0.5, dim=-1)
    return F.linear(weights, v.T)
