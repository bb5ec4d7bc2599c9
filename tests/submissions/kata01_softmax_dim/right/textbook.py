import torch


def softmax(x, dim=-1):
    x_max = torch.max(x, dim=dim, keepdim=True)[0]
    e_x = torch.exp(x - x_max)
    return e_x / e_x.sum(dim=dim, keepdim=True)
