import torch


def softmax(x: torch.Tensor, dim: int = -1):
    dtype = x.dtype
    d = x.double()
    d = d - d.max(dim=dim, keepdim=True).values
    d = d.exp()
    d = d / d.sum(dim=dim, keepdim=True)
    return d.type(dtype)
