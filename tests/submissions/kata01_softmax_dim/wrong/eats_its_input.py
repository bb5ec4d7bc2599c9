import torch


def softmax(x, dim=-1):
    # subtract the max for stability
    x -= x.max(dim=dim, keepdim=True).values
    e = torch.exp(x)
    total = e.sum(dim=dim, keepdim=True)
    return e / total
