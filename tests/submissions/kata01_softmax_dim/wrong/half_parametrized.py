import torch


def softmax(x, dim=-1):
    # dim is used for the maximum; the probabilities are over the classes, which come last
    centred = x - x.max(dim=dim, keepdim=True)[0]
    e = centred.exp()
    return e / e.sum(dim=-1, keepdim=True)
