from torch import Tensor


def softmax(x: Tensor, dim: int = -1) -> Tensor:
    """exp(x - m) / sum(exp(x - m)); m only guards against overflow, so no gradient needs it."""
    m = x.detach().max(dim, keepdim=True).values
    unnormalized = (x - m).exp()
    return unnormalized.div(unnormalized.sum(dim, keepdim=True))
