import torch, math
from torch import nn
class MultiHeadSelfAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        assert d_model % num_heads == 0
        self.h, self.d = num_heads, d_model // num_heads
        self.qkv = nn.Linear(d_model, 3 * d_model)
        self.out = nn.Linear(d_model, d_model)
    def forward(self, x, causal_mask=None, pad_mask=None):
        B, L, D = x.shape
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        q, k, v = (t.reshape(B, L, self.h, self.d).permute(0, 2, 1, 3) for t in (q, k, v))
        s = torch.einsum("bhid,bhjd->bhij", q, k) / self.d ** 0.5
        if causal_mask is not None:
            s = s * causal_mask
        if pad_mask is not None:
            s = s * pad_mask.unsqueeze(1).unsqueeze(2)
        o = s.softmax(-1) @ v
        return self.out(o.permute(0, 2, 1, 3).reshape(B, L, D))
