import math

import torch
from torch import Tensor


def attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    # Step 1: compare every query with every key
    scores = k @ v.T  # (3, 3), one row for each query
    # Step 2: scale by the square root of d, so that the scores keep a variance of about one
    scores = scores / math.sqrt(q.shape[-1])
    # Step 3: turn the scores of each query into weights over the keys
    weights = torch.softmax(scores, dim=-1)  # (3, 3), each row sums to one
    # Step 4: average the values by those weights
    return weights @ v  # (3, d)
