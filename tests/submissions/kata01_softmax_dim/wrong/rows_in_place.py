import torch


def softmax(x, dim=-1):
    # rows are what attention needs, so normalise the last dimension
    x -= x.max(dim=dim, keepdim=True).values
    p = torch.exp(x)
    return p / p.sum(dim=-1, keepdim=True)
