"""The attention layers that katas 6 and 7 are handed, so that only the layer is graded.

Both keep the contracts of kata3 and kata4 and lean on torch's
`scaled_dot_product_attention`: an implementation of their own, independent of
the solutions. Masks are bool, and True means "may attend" or "is a real token".
"""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional as F


class MultiHeadSelfAttention(nn.Module):
    """Self-attention over x (B, L, D) with H heads of size d = D / H; returns (B, L, D)."""

    def __init__(self, d_model: int, num_heads: int) -> None:
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"d_model={d_model} is not divisible by num_heads={num_heads}")
        self.num_heads = num_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def forward(
        self, x: Tensor, causal_mask: Tensor | None = None, pad_mask: Tensor | None = None
    ) -> Tensor:
        """Attend within x; causal_mask is (L, L), pad_mask (B, L), either may be None."""
        _expect_mask("causal_mask", causal_mask, (x.shape[1], x.shape[1]))
        _expect_mask("pad_mask", pad_mask, (x.shape[0], x.shape[1]))
        visible = None if causal_mask is None else causal_mask[None, None]
        if pad_mask is not None:
            keys = pad_mask[:, None, None, :]
            visible = keys if visible is None else visible & keys
        return self.out_proj(
            _attend(self.q_proj(x), self.k_proj(x), self.v_proj(x), self.num_heads, visible)
        )


class MultiHeadCrossAttention(nn.Module):
    """Attention from x (B, L, D) to memory (B, S, D) with H heads; returns (B, L, D)."""

    def __init__(self, d_model: int, num_heads: int) -> None:
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"d_model={d_model} is not divisible by num_heads={num_heads}")
        self.num_heads = num_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def forward(self, x: Tensor, memory: Tensor, pad_mask: Tensor | None = None) -> Tensor:
        """Attend from x to memory; pad_mask is over the memory, (B, S), or None."""
        _expect_mask("pad_mask", pad_mask, (memory.shape[0], memory.shape[1]))
        visible = None if pad_mask is None else pad_mask[:, None, None, :]
        return self.out_proj(
            _attend(
                self.q_proj(x), self.k_proj(memory), self.v_proj(memory), self.num_heads, visible
            )
        )


def _attend(query: Tensor, key: Tensor, value: Tensor, heads: int, mask: Tensor | None) -> Tensor:
    query, key, value = (
        t.unflatten(-1, (heads, -1)).transpose(1, 2) for t in (query, key, value)
    )  # (B, H, L or S, d)
    mixed = F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
    return mixed.transpose(1, 2).flatten(2)


def _expect_mask(name: str, mask: Tensor | None, shape: tuple[int, ...]) -> None:
    """Refuse a mask that does not fit: a wrong one that broadcasts would pass unseen."""
    if mask is not None and tuple(mask.shape) != shape:
        raise ValueError(f"{name} has shape {tuple(mask.shape)}, expected {shape}")
