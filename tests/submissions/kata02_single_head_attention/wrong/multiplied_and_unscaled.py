import torch
import torch.nn as nn


def scaled_dot_product_attention(q, k, v, mask=None):
    sim = torch.einsum("...id,...jd->...ij", q, k)
    if mask is not None:
        sim = sim * mask
    attn = sim.softmax(dim=-1)
    out = torch.einsum("...ij,...jd->...id", attn, v)
    return out, attn


class SingleHeadAttention(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.to_qkv = nn.Linear(d_model, d_model * 3, bias=False)
        self.to_out = nn.Linear(d_model, d_model)

    def forward(self, x, causal_mask=None, pad_mask=None):
        q, k, v = self.to_qkv(x).chunk(3, dim=-1)
        m = None
        if causal_mask is not None:
            m = causal_mask
        if pad_mask is not None:
            pm = pad_mask.unsqueeze(1)
            m = pm if m is None else m & pm
        out, _ = scaled_dot_product_attention(q, k, v, m)
        return self.to_out(out)
