import torch
import torch.nn.functional as F


def attention(q, k, v):
    n, d = q.shape
    out = torch.zeros_like(q)
    for i in range(n):
        s = q.new_zeros(n)
        for j in range(n):
            s[j] = (q[i] * k[j]).sum() / d**0.5
        w = F.softmax(s, dim=0)
        for j in range(n):
            out[i] += w[j] * v[j]
    return out
