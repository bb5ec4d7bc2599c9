"""kata5 · Sinusoidal positional encoding.

Attention by itself does not know in which order its tokens came. Add to every
token a code of its position, from sines and cosines of different wavelengths:

    PE(pos, 2i)     = sin(pos / 10000^(2i / D))
    PE(pos, 2i + 1) = cos(pos / 10000^(2i / D))

Shapes: B batch, L tokens, D = d_model.

    x       (B, L, D)
    output  (B, L, D)        x + PE[:L], the same code for every sequence of the batch

Positions count from 0. Sines and cosines alternate: feature 2i and feature
2i + 1 are the sine and the cosine of the same angle. For D = 4 the codes begin

    position 0   0       1        0       1
    position 1   0.8415  0.5403   0.0100  1.0000
    position 2   0.9093  -0.4161  0.0200  0.9998

An odd D works too: its last feature is a sine without a cosine. L up to and
including `max_len` works, a longer x raises an exception (of any kind).
Nothing here is trained, and everything follows `module.to(...)`: on another
device the output is there, and bfloat16 in gives bfloat16 out. The input is
never changed in place, and gradients flow back to it. How the codes are stored
or computed, in float64 or float32, is free; computed in bfloat16 they blur,
which is noted only. There is no dropout and no scaling of x by sqrt(D).
"""

import math

import torch
from torch import Tensor, nn


class PositionalEncoding(nn.Module):
    """Add the code of its position to every token.

    Args:
        d_model: size D of each token; odd sizes too.
        max_len: the largest number of tokens in a sequence, at least 2.
    """

    def __init__(self, d_model: int, max_len: int = 5000) -> None:
        super().__init__()
        self.max_len = max_len
        # Step 1: number the positions from 0, as a column
        position = torch.arange(max_len).unsqueeze(1)  # (max_len, 1)
        # Step 2: list the even features 2i; each starts a pair of sine and cosine
        even = torch.arange(0, d_model, 2)  # (P,), P = D / 2 rounded up
        # Step 3: give each pair its frequency, 1 / 10000^(2i / D)
        frequency = torch.exp(-math.log(10000.0) * even / d_model)  # (P,)
        # Step 4: multiply every position with every frequency
        angle = position * frequency  # (max_len, P)
        # Step 5: put sines into the even and cosines into the odd columns (odd D: one cosine less)
        pe = torch.zeros(max_len, d_model)
        pe[:, 0::2] = torch.sin(angle)
        pe[:, 1::2] = torch.cos(angle[:, : d_model // 2])
        # Step 6: keep the table where .to() finds it and no optimizer does
        self.pe: Tensor
        self.register_buffer("pe", pe)

    def forward(self, x: Tensor) -> Tensor:
        """Return x with the codes of positions 0 to L - 1 added.

        Args:
            x: (B, L, D), L at most max_len

        Returns:
            (B, L, D)
        """
        # Step 1: refuse more tokens than there are codes
        length = x.shape[1]
        if length > self.max_len:
            raise ValueError(f"x has {length} tokens, max_len is {self.max_len}")
        # Step 2: take the codes of the first L positions
        codes = self.pe[:length]  # (L, D)
        # Step 3: add them to every sequence of the batch
        return x + codes  # (B, L, D)
