import torch


def softmax(x, dim=-1):
    z = x - x.amax(dim=dim, keepdim=True)
    z = z.clamp(min=-20, max=0)  # exp never underflows
    e = torch.exp(z)
    return e / e.sum(dim=dim, keepdim=True)
