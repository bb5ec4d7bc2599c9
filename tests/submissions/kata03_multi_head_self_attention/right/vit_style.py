import torch
from torch import nn


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        dim_head = d_model // num_heads
        self.heads = num_heads
        self.scale = dim_head ** -0.5
        self.to_qkv = nn.Linear(d_model, d_model * 3, bias=False)
        self.to_out = nn.Sequential(nn.Linear(d_model, d_model), nn.Dropout(0.1))
        self.attend = nn.Softmax(dim=-1)

    def forward(self, x, causal_mask=None, pad_mask=None):
        B, N, C = x.shape
        qkv = self.to_qkv(x).reshape(B, N, 3, self.heads, C // self.heads).permute(2, 0, 3, 1, 4)
        q, k, v = qkv[0], qkv[1], qkv[2]

        q = q * self.scale
        dots = torch.matmul(q, k.transpose(-1, -2))

        mask_value = -torch.finfo(dots.dtype).max
        if pad_mask is not None:
            dots.masked_fill_(~pad_mask.view(B, 1, 1, N), mask_value)
        if causal_mask is not None:
            dots.masked_fill_(~causal_mask, mask_value)

        attn = self.attend(dots)
        out = torch.matmul(attn, v)
        out = out.permute(0, 2, 1, 3).flatten(start_dim=2)
        return self.to_out(out)
