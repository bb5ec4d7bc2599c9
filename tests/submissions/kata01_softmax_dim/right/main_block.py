"""Softmax from scratch.

torch.softmax(x, dim) and F.softmax only appear in the comparison below.
"""

import torch
import torch.nn.functional as F


class Softmax:
    def __init__(self, dim=-1):
        self.dim = dim

    def __call__(self, x):
        exps = torch.exp(x - torch.amax(x, dim=self.dim, keepdim=True))
        return exps / torch.sum(exps, dim=self.dim, keepdim=True)


def softmax(x, dim=-1):
    return Softmax(dim)(x)


if __name__ == "__main__":
    x = torch.randn(2, 3, 4)
    for d in range(-3, 3):
        assert torch.allclose(softmax(x, d), F.softmax(x, dim=d), atol=1e-6)
    print("ok")
