"""kata0 · Warm-up with three tokens.

Two minutes, to see how this works. `katas/kata00_warm_up.py` holds a finished
answer with one slip in it. Do not look for the slip: have it found.

    python -m grader kata0

fails, shows a small input that it fails on, names the mistake and asks you a
question. Mend the line (one letter of the code is wrong), save the file, and run
the same command again: it passes, and names the next kata.

What the code is to do is attention, for three tokens:

    attention(q, k, v) = softmax(q kᵀ / √d) v

Every query is compared with every key. Softmax turns the scores of one query into
weights that sum to one, and those weights average the values.

    q       (3, d)   for each token, what it looks for
    k       (3, d)   for each token, what it is found by
    v       (3, d)   for each token, what it passes on
    output  (3, d)   for each token, an average of the values

Worked by hand for d = 4, so that √d is 2:

    q = [[2, 0, 0, 0], [0, 2, 0, 0], [0, 0, 2, 2]]
    k = [[1, 0, 0, 1], [0, 1, 1, 0], [1, 1, 0, 0]]
    v = [[1, 0, 4, 0], [1, 0, 0, 4], [1, 0, 2, 2]]

    scores  = [[1, 0, 1], [0, 1, 1], [1, 1, 0]]
    weights = [[0.4223, 0.1554, 0.4223], [0.1554, 0.4223, 0.4223], [0.4223, 0.4223, 0.1554]]
    output  = [[1, 0, 2.5339, 1.4661], [1, 0, 1.4661, 2.5339], [1, 0, 2.0, 2.0]]

Scores in the thousands give finite, right results, too. Dtype and device follow
the input, the input is never changed in place, and gradients flow to q, k and v.
Half precision is tried as well, but only noted. Not allowed:
`F.scaled_dot_product_attention`, `nn.MultiheadAttention`.
"""

import math

import torch
from torch import Tensor


def attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Average the values by how well each query matches each key.

    Args:
        q: (3, d), the queries
        k: (3, d), the keys
        v: (3, d), the values

    Returns:
        (3, d), one average of the values for each query
    """
    # Step 1: compare every query with every key
    scores = q @ k.T  # (3, 3), one row for each query
    # Step 2: scale by the square root of d, so that the scores keep a variance of about one
    scores = scores / math.sqrt(q.shape[-1])
    # Step 3: turn the scores of each query into weights over the keys
    weights = torch.softmax(scores, dim=-1)  # (3, 3), each row sums to one
    # Step 4: average the values by those weights
    return weights @ v  # (3, d)
