"""kata1 · Softmax along a dimension.

Turn scores into weights that are positive and sum to one along `dim`:

    softmax(x)_i = exp(x_i) / sum over j of exp(x_j),  i and j running along dim

    x       any shape of 1 to 4 dimensions
    dim     the dimension that sums to one, -1 (the last) unless given; may be negative
    output  the shape and dtype of x

A worked example, 3 tokens by 3 tokens. `dim=-1` names the last dimension, the
columns, and yet it is each row that sums to one: the sum runs along a row.

    x =  1.0  0.5  0.2    softmax(x, dim=-1) =  0.4864  0.2950  0.2186
         0.3  1.2  0.8                          0.1958  0.4815  0.3228
         0.7  0.1  1.5                          0.2649  0.1454  0.5896

Results stay finite and right for entries up to 1e4 in size, in float64 and
float32 as well as in float16 and bfloat16, and so do gradients. An entry of
-inf gets weight exactly 0 and gradient 0; a slice with nothing but -inf is
free. Dtype and device follow the input, and the input is never changed in place.
Not allowed, in whatever form: softmax, log_softmax, softmin, logsumexp of
torch, and `F.scaled_dot_product_attention`.
"""

import torch
from torch import Tensor


def softmax(x: Tensor, dim: int = -1) -> Tensor:
    """Return weights that sum to one along a dimension.

    Args:
        x: scores, of 1 to 4 dimensions; -inf means weight 0
        dim: the dimension to sum over, counted from the end where negative

    Returns:
        weights, in the shape and dtype of x
    """
    # TODO 1: find the largest score along dim, and keep that dimension as size 1
    # TODO 2: subtract it, so that no exponential overflows; this cancels in the quotient
    # TODO 3: exponentiate
    # TODO 4: add up along dim, and keep that dimension again
    # TODO 5: divide, so that each slice along dim sums to one
    raise NotImplementedError
