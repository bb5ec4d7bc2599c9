import torch


def softmax(x, dim=-1):
    # stable: the lse trick
    return torch.exp(x - torch.logsumexp(x, dim=dim, keepdim=True))
