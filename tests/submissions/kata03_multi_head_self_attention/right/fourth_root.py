import torch
from torch import Tensor, nn


class MultiHeadSelfAttention(nn.Module):
    """Raw matrices, x @ W; d ** -0.25 on either side, as large models did for the range of fp16."""

    def __init__(self, d_model: int, num_heads: int) -> None:
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"cannot split {d_model} features over {num_heads} heads")
        self.num_heads = num_heads
        self.root = (d_model // num_heads) ** -0.25
        self.w_q = nn.Parameter(torch.randn(d_model, d_model) / d_model**0.5)
        self.w_k = nn.Parameter(torch.randn(d_model, d_model) / d_model**0.5)
        self.w_v = nn.Parameter(torch.randn(d_model, d_model) / d_model**0.5)
        self.w_o = nn.Parameter(torch.randn(d_model, d_model) / d_model**0.5)

    def forward(self, x: Tensor, causal_mask: Tensor | None = None, pad_mask: Tensor | None = None) -> Tensor:
        b, n, _ = x.shape
        query = (x @ self.w_q).view(b, n, self.num_heads, -1).transpose(1, 2) * self.root
        key = (x @ self.w_k).view(b, n, self.num_heads, -1).transpose(1, 2) * self.root
        value = (x @ self.w_v).view(b, n, self.num_heads, -1).transpose(1, 2)
        logits = query @ key.mT
        bias = torch.zeros_like(logits)
        if causal_mask is not None:
            bias = bias.masked_fill(~causal_mask, float("-inf"))
        if pad_mask is not None:
            bias = bias.masked_fill(~pad_mask[:, None, None], float("-inf"))
        mixed = (logits + bias).softmax(dim=-1) @ value
        return mixed.transpose(1, 2).reshape(b, n, -1) @ self.w_o
