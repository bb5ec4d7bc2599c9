import torch


def softmax(x, dim=-1):
    m = x.max(dim=dim, keepdim=True).values
    return x - m - torch.log(torch.exp(x - m).sum(dim=dim, keepdim=True))
