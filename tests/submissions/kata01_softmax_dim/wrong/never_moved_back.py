import torch


def softmax(x, dim=-1):
    y = x.transpose(dim, -1)
    y = torch.exp(y - y.amax(-1, keepdim=True))
    return y / y.sum(-1, keepdim=True)
