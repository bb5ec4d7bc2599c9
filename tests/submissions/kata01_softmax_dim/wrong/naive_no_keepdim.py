import torch


def softmax(x: torch.Tensor, dim: int = -1) -> torch.Tensor:
    numer = x.exp()
    denom = numer.sum(dim)
    return numer / denom
