import torch
import torch.nn.functional as F
from torch import nn


def softmax(x, dim):
    """My own; not torch's."""
    x = x - x.max(dim=dim, keepdim=True)[0]
    e = torch.exp(x)
    return e / torch.sum(e, dim=dim, keepdim=True)


class MultiHeadCrossAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        if d_model % num_heads != 0:
            raise TypeError("heads must divide d_model")
        self.d_model, self.num_heads = d_model, num_heads
        # one matrix for all three, as in nn.MultiheadAttention
        self.in_proj_weight = nn.Parameter(torch.zeros(3 * d_model, d_model))
        self.in_proj_bias = nn.Parameter(torch.zeros(3 * d_model))
        self.out_proj = nn.Linear(d_model, d_model)
        nn.init.xavier_uniform_(self.in_proj_weight)

    def forward(self, x, memory, pad_mask=None):
        D = self.d_model
        w, b = self.in_proj_weight, self.in_proj_bias
        q = F.linear(x, w[:D], b[:D])
        k, v = F.linear(memory, w[D:], b[D:]).split(D, dim=-1)
        q, k, v = [t.reshape(t.size(0), t.size(1), self.num_heads, -1).swapaxes(1, 2) for t in (q, k, v)]
        s = q @ k.swapaxes(-1, -2) * (D // self.num_heads) ** -0.5
        if pad_mask is not None:
            s = s.masked_fill(pad_mask[:, None, None, :].logical_not(), torch.finfo(s.dtype).min)
        y = softmax(s, dim=-1) @ v
        return self.out_proj(y.swapaxes(1, 2).reshape(x.shape))
