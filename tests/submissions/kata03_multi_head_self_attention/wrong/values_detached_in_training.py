import torch
import torch.nn as nn

class MultiHeadSelfAttention(nn.Module):
    def __init__(self, d_model, num_heads=8, qkv_bias=True, attn_drop=0., proj_drop=0.1):
        super().__init__()
        dim, heads = d_model, num_heads
        assert dim % heads == 0, 'dim should be divisible by num_heads'
        self.num_heads = heads
        self.scale = (dim // heads) ** -0.5
        self.to_qkv = nn.Linear(dim, dim * 3, bias=qkv_bias)
        self.attn_drop = nn.Dropout(attn_drop)
        self.to_out = nn.Sequential(nn.Linear(dim, dim), nn.Dropout(proj_drop))

    def forward(self, x, causal_mask=None, pad_mask=None):
        B, N, C = x.shape
        qkv = self.to_qkv(x).reshape(B, N, 3, self.num_heads, C // self.num_heads).permute(2, 0, 3, 1, 4)
        q, k, v = qkv.unbind(0)
        attn = (q * self.scale) @ k.transpose(-2, -1)
        keep = None
        if pad_mask is not None:
            keep = pad_mask[:, None, None]
        if causal_mask is not None:
            keep = causal_mask if keep is None else keep & causal_mask
        if keep is not None:
            attn = attn.masked_fill(keep.logical_not(), -torch.finfo(attn.dtype).max)
        attn = self.attn_drop(attn.softmax(dim=-1))
        v = v.detach() if self.training else v
        x = (attn @ v).transpose(1, 2).reshape(B, N, C)
        return self.to_out(x)
