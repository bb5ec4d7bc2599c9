import torch


def softmax(x, dim=-1):
    m = torch.max(x, dim=dim, keepdim=True)[1]
    e = torch.exp(x - m)
    return e / e.sum(dim=dim, keepdim=True)
