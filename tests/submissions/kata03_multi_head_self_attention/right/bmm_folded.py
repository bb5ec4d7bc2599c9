import torch
import torch.nn as nn


class MultiHeadSelfAttention(nn.Module):
    """Heads folded into the batch, as fairseq did."""

    def __init__(self, d_model, num_heads):
        super().__init__()
        self.embed_dim = d_model
        self.num_heads = num_heads
        self.head_dim = d_model // num_heads
        assert self.head_dim * num_heads == self.embed_dim, "embed_dim must be divisible by num_heads"
        self.scaling = self.head_dim ** -0.5
        self.in_proj_weight = nn.Parameter(torch.empty(3 * d_model, d_model))
        self.in_proj_bias = nn.Parameter(torch.zeros(3 * d_model))
        self.out_proj = nn.Linear(d_model, d_model)
        nn.init.xavier_uniform_(self.in_proj_weight)

    def forward(self, x, causal_mask=None, pad_mask=None):
        bsz, tgt_len, embed_dim = x.size()
        x = x.transpose(0, 1)                                            # T x B x C
        q, k, v = nn.functional.linear(x, self.in_proj_weight, self.in_proj_bias).chunk(3, dim=-1)
        q = q * self.scaling
        q, k, v = (
            t.contiguous().view(tgt_len, bsz * self.num_heads, self.head_dim).transpose(0, 1)
            for t in (q, k, v)
        )
        attn_weights = torch.bmm(q, k.transpose(1, 2))                   # B*H x T x T
        if causal_mask is not None:
            attn_weights = attn_weights.masked_fill(causal_mask.unsqueeze(0).logical_not(), float("-inf"))
        if pad_mask is not None:
            hidden = pad_mask.logical_not().repeat_interleave(self.num_heads, dim=0)
            attn_weights = attn_weights.masked_fill(hidden.unsqueeze(1), float("-inf"))
        attn_weights = attn_weights.softmax(dim=2)
        attn = torch.bmm(attn_weights, v)
        attn = attn.transpose(0, 1).contiguous().view(tgt_len, bsz, embed_dim)
        return self.out_proj(attn).transpose(0, 1)
