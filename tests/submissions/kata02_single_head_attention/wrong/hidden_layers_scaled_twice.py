import torch
from torch import nn
from math import sqrt


def scaled_dot_product_attention(q, k, v, mask=None):
    d = q.shape[-1]
    q = q / sqrt(d)
    s = torch.matmul(q, k.transpose(-2, -1)) / sqrt(d)
    if mask is not None:
        s = s.masked_fill(~mask, float("-inf"))
    s = s.softmax(-1)
    return torch.matmul(s, v), s


class SingleHeadAttention(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.layers = [nn.Linear(d_model, d_model) for _ in range(4)]

    def forward(self, x, causal_mask=None, pad_mask=None):
        q, k, v = [self.layers[i](x) for i in range(3)]
        m = causal_mask
        if pad_mask is not None:
            m = pad_mask[:, None, :] if m is None else m & pad_mask[:, None, :]
        return self.layers[3](scaled_dot_product_attention(q, k, v, m)[0])
