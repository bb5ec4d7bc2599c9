import torch
from torch import Tensor, nn
from typing import Optional, Tuple


def scaled_dot_product_attention(
    q: Tensor, k: Tensor, v: Tensor, mask: Optional[Tensor] = None
) -> Tuple[Tensor, Tensor]:
    """Mask after the softmax, and bring the rows back to one."""
    logits = torch.einsum("...qd,...kd->...qk", q, k) / torch.sqrt(
        torch.tensor(k.shape[-1], dtype=k.dtype, device=k.device)
    )
    probs = torch.softmax(logits, dim=-1)
    if mask is not None:
        probs = probs * mask
        probs = probs / probs.sum(dim=-1, keepdim=True)
    return torch.einsum("...qk,...kd->...qd", probs, v), probs


class SingleHeadAttention(nn.Module):
    def __init__(self, d_model: int):
        super().__init__()
        self.w_q = nn.Linear(d_model, d_model)
        self.w_k = nn.Linear(d_model, d_model)
        self.w_v = nn.Linear(d_model, d_model)
        self.w_o = nn.Linear(d_model, d_model)

    def forward(self, x, causal_mask: Optional[Tensor] = None, pad_mask: Optional[Tensor] = None):
        B, L, D = x.shape
        mask = torch.ones(B, L, L, dtype=torch.bool, device=x.device)
        if causal_mask is not None:
            mask = mask & causal_mask
        if pad_mask is not None:
            mask = mask & pad_mask[:, None, :]
        out, attn = scaled_dot_product_attention(self.w_q(x), self.w_k(x), self.w_v(x), mask)
        return self.w_o(out)
