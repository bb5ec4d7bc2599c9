import torch


def softmax(x, dim=0):
    m = x.amax(dim=dim, keepdim=True)
    return torch.exp(x - m)
