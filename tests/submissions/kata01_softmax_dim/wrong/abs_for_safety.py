import torch


def softmax(x, dim=-1):
    biggest = torch.abs(x).max(dim=dim, keepdim=True)[0]
    e = torch.exp(x - biggest)
    return e / e.sum(dim=dim, keepdim=True)
