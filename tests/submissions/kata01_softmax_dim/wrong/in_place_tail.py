import torch


def softmax(x, dim=-1):
    z = x - x.amax(dim=dim, keepdim=True)
    z.exp_()
    z /= z.sum(dim=dim, keepdim=True)
    return z
