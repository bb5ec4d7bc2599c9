"""Not a known bug: the exercise is given away to the library."""
import torch.nn as nn
from torch.nn.functional import scaled_dot_product_attention as sdpa


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        assert d_model % num_heads == 0
        self.num_heads = num_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def forward(self, x, causal_mask=None, pad_mask=None):
        b, l, d = x.shape
        mask = causal_mask
        if pad_mask is not None:
            mask = pad_mask[:, None, None, :] if mask is None else mask & pad_mask[:, None, None, :]
        q, k, v = (p(x).view(b, l, self.num_heads, -1).transpose(1, 2) for p in (self.q_proj, self.k_proj, self.v_proj))
        return self.out_proj(sdpa(q, k, v, attn_mask=mask).transpose(1, 2).reshape(b, l, d))
