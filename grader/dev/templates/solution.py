"""kata0 · Template title.

Move every token's features so that their mean is zero.

Shapes: B batch, L tokens, D features.

    x       (B, L, D)
    output  (B, L, D)

Dtype and device follow the input, and the input is never changed in place.
"""

from torch import Tensor


def center(x: Tensor) -> Tensor:
    """Subtract from every token the mean of its features.

    Args:
        x: (B, L, D)

    Returns:
        (B, L, D), with mean zero over the last dimension
    """
    # Step 1: average over the features, and keep that dimension
    mean = x.mean(dim=-1, keepdim=True)  # (B, L, 1)
    # Step 2: subtract the mean
    return x - mean
