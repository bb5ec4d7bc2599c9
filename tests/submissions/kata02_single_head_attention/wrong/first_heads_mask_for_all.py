import math, torch
from torch import nn
def scaled_dot_product_attention(q, k, v, mask=None):
    s = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
    if mask is not None:
        mask = mask if mask.dim() < 4 else mask[:, :1]
        s = s.masked_fill(~(mask.unsqueeze(1) if s.dim() == 4 and mask.dim() == 3 else mask), float("-inf"))
    w = torch.softmax(s, dim=-1)
    return w @ v, w
class SingleHeadAttention(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.q = nn.Linear(d_model, d_model); self.k = nn.Linear(d_model, d_model)
        self.v = nn.Linear(d_model, d_model); self.o = nn.Linear(d_model, d_model)
    def forward(self, x, causal_mask=None, pad_mask=None):
        mask = causal_mask
        if pad_mask is not None:
            p = pad_mask[:, None, :]
            mask = p if mask is None else mask & p
        return self.o(scaled_dot_product_attention(self.q(x), self.k(x), self.v(x), mask)[0])
