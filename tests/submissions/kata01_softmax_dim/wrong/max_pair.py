import torch


def softmax(x, dim=-1):
    """numerically stable"""
    stable = x - torch.max(x, dim=dim, keepdim=True)
    top = stable.exp()
    return top / top.sum(dim=dim, keepdim=True)
