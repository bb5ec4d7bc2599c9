import torch


def softmax(x, dim=-1):
    x = x.float()
    e = torch.exp(x - x.max(dim=dim, keepdim=True)[0])
    return e / e.sum(dim=dim, keepdim=True)
