import math

import torch
from torch import Tensor, nn


def scaled_dot_product_attention(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    return weights @ v, weights


class SingleHeadAttention(nn.Module):
    def __init__(self, d_model: int) -> None:
        super().__init__()
        # TODO 1: four projections, each Linear(D, D): query, key, value, output
        raise NotImplementedError

    def forward(self, x, causal_mask=None, pad_mask=None):
        # TODO 1: project x to queries, keys and values
        # TODO 2: join the masks: a key is visible only if both allow it
        # TODO 3: attend
        # TODO 4: mix the features with the output projection
        raise NotImplementedError
