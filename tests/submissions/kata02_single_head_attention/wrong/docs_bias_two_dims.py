import math
import torch
from torch import nn


# after the reference code in the torch documentation
def scaled_dot_product_attention(q, k, v, mask=None):
    L, S = q.size(-2), k.size(-2)
    scale_factor = 1 / math.sqrt(q.size(-1))
    attn_bias = torch.zeros(L, S, dtype=q.dtype, device=q.device)
    if mask is not None:
        attn_bias.masked_fill_(mask.logical_not(), float("-inf"))
    attn_weight = q @ k.transpose(-2, -1) * scale_factor
    attn_weight += attn_bias
    attn_weight = torch.softmax(attn_weight, dim=-1)
    return attn_weight @ v, attn_weight


class SingleHeadAttention(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def forward(self, x, causal_mask=None, pad_mask=None):
        outs = []
        for i, seq in enumerate(x):
            m = causal_mask
            if pad_mask is not None:
                m = pad_mask[i][None, :] if m is None else m & pad_mask[i][None, :]
            outs.append(scaled_dot_product_attention(self.q_proj(seq), self.k_proj(seq), self.v_proj(seq), m)[0])
        return self.out_proj(torch.stack(outs))
