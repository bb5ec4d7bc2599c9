import torch


def softmax(x, dim=-1):
    e = torch.exp(x - x.amax(dim=dim, keepdim=True))
    if dim == 0:
        return e / e.sum(0)
    if dim in (1, -1):
        return e / e.sum(-1)[..., None]
    raise ValueError("dim must be 0, 1 or -1")
