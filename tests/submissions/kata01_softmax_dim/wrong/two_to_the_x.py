import torch


def softmax(x: torch.Tensor, dim: int = -1) -> torch.Tensor:
    shifted = x - x.amax(dim=dim, keepdim=True)
    weights = torch.pow(2, shifted)
    return weights / weights.mean(dim=dim, keepdim=True)
