import torch
import torch.nn as nn

class MultiHeadSelfAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        assert d_model % num_heads == 0
        self.num_heads = num_heads
        self.d_k = d_model // num_heads
        self.q_linear = nn.Linear(d_model, d_model)
        self.k_linear = nn.Linear(d_model, d_model)
        self.v_linear = nn.Linear(d_model, d_model)
        self.o_linear = nn.Linear(d_model, d_model)

    def forward(self, x, causal_mask=None, pad_mask=None):
        bs, n, _ = x.shape
        q = self.q_linear(x).reshape(bs, n, self.num_heads, self.d_k).transpose(1, 2)
        k = self.k_linear(x).reshape(bs, n, self.num_heads, self.d_k).transpose(1, 2)
        v = self.v_linear(x).reshape(bs, n, self.num_heads, self.d_k).transpose(1, 2)
        attn = q @ k.transpose(2, 3) / self.d_k
        if causal_mask is not None:
            attn = attn.masked_fill(causal_mask == 0, -1e-9)
        if pad_mask is not None:
            attn = attn.masked_fill(pad_mask.unsqueeze(1).unsqueeze(1) == 0, -1e-9)
        attn = torch.softmax(attn, dim=-1)
        out = attn @ v
        out = out.transpose(1, 2).contiguous().view(bs, n, -1)
        return out
