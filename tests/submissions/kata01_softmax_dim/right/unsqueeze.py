import torch
from torch import Tensor


def softmax(x: Tensor, dim: int = -1) -> Tensor:
    biggest: Tensor = x.max(dim=dim).values.unsqueeze(dim)
    e: Tensor = torch.exp(x - biggest.expand_as(x))
    norm: Tensor = e.sum(dim=dim).unsqueeze(dim)
    return e * norm.reciprocal()
