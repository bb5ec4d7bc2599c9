import torch
from torch import nn


class MultiHeadSelfAttention(nn.Module):
    """query_key_value holds (q, k, v) of head 0, then of head 1, and so on."""

    def __init__(self, d_model, num_heads):
        super().__init__()
        self.num_attention_heads = num_heads
        self.head_size = d_model // num_heads
        if self.head_size * num_heads != d_model:
            raise ValueError("hidden size must be divisible by the number of heads")
        self.norm_factor = self.head_size ** 0.5
        self.query_key_value = nn.Linear(d_model, 3 * d_model)
        self.dense = nn.Linear(d_model, d_model)

    def forward(self, x, causal_mask=None, pad_mask=None):
        qkv = self.query_key_value(x)
        qkv = qkv.view(*qkv.shape[:-1], self.num_attention_heads, 3 * self.head_size)
        query = qkv[..., : self.head_size].permute(0, 2, 1, 3)
        key = qkv[..., self.head_size : 2 * self.head_size].permute(0, 2, 1, 3)
        value = qkv[..., 2 * self.head_size :].permute(0, 2, 1, 3)
        attn_scores = torch.einsum("bhid,bhjd->bhij", query, key) / self.norm_factor
        lowest = torch.tensor(torch.finfo(attn_scores.dtype).min, dtype=attn_scores.dtype, device=x.device)
        if causal_mask is not None:
            attn_scores = torch.where(causal_mask, attn_scores, lowest)
        if pad_mask is not None:
            attn_scores = torch.where(pad_mask[:, None, None, :], attn_scores, lowest)
        attn_weights = nn.functional.softmax(attn_scores, dim=-1).to(value.dtype)
        out = torch.matmul(attn_weights, value)
        out = out.permute(0, 2, 1, 3).contiguous().view(*x.shape)
        return self.dense(out)
