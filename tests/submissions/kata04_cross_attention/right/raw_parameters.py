import torch
from torch import nn, Tensor


class MultiHeadCrossAttention(nn.Module):
    """One matrix per projection and head: (H, D, d), and (H, d, D) for the way back."""

    def __init__(self, d_model: int, num_heads: int):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError("d_model must be a multiple of num_heads")
        head_dim = d_model // num_heads
        self.W_Q = nn.Parameter(torch.randn(num_heads, d_model, head_dim) * 0.02)
        self.W_K = nn.Parameter(torch.randn(num_heads, d_model, head_dim) * 0.02)
        self.W_V = nn.Parameter(torch.randn(num_heads, d_model, head_dim) * 0.02)
        self.W_O = nn.Parameter(torch.randn(num_heads, head_dim, d_model) * 0.02)

    def forward(self, x: Tensor, memory: Tensor, pad_mask: Tensor | None = None) -> Tensor:
        q = torch.einsum("ble,hed->bhld", x, self.W_Q)
        k = torch.einsum("bse,hed->bhsd", memory, self.W_K)
        v = torch.einsum("bse,hed->bhsd", memory, self.W_V)
        pattern = torch.einsum("bhld,bhsd->bhls", q, k) / q.size(-1) ** 0.5
        if pad_mask is not None:
            pattern.masked_fill_(~pad_mask[:, None, None], float("-inf"))
        z = torch.einsum("bhls,bhsd->bhld", pattern.softmax(-1), v)
        return torch.einsum("bhld,hde->ble", z, self.W_O)
