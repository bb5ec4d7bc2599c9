import torch
from torch import nn


class MultiHeadSelfAttention(nn.Module):
    """masked_fill hides what is True ... right?"""

    def __init__(self, d_model, num_heads):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError("uneven heads")
        self.heads = num_heads
        self.Wq = nn.Linear(d_model, d_model, bias=False)
        self.Wk = nn.Linear(d_model, d_model, bias=False)
        self.Wv = nn.Linear(d_model, d_model, bias=False)
        self.Wo = nn.Linear(d_model, d_model, bias=False)

    def forward(self, x, causal_mask=None, pad_mask=None):
        b, t, e = x.size()
        h, s = self.heads, e // self.heads
        queries = self.Wq(x).view(b, t, h, s).permute(0, 2, 1, 3)
        keys = self.Wk(x).view(b, t, h, s).permute(0, 2, 1, 3)
        values = self.Wv(x).view(b, t, h, s).permute(0, 2, 1, 3)
        dot = torch.einsum('bhis,bhjs->bhij', queries, keys)
        if causal_mask is not None:
            dot = dot.masked_fill(causal_mask, -1e9)
        if pad_mask is not None:
            dot = dot.masked_fill(pad_mask.view(b, 1, 1, t), -1e9)
        dot = dot.softmax(dim=-1)
        out = torch.einsum('bhij,bhjs->bihs', dot, values).reshape(b, t, e)
        return self.Wo(out)
