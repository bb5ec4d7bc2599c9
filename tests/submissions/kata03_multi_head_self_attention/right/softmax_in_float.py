import math

import torch
from torch import nn


def softmax(scores):
    """Stable softmax in single precision, whatever comes in."""
    s = scores.float()
    e = torch.exp(s - s.max(dim=-1, keepdim=True).values)
    return (e / e.sum(dim=-1, keepdim=True)).to(scores.dtype)


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        if d_model % num_heads:
            raise ValueError
        self.num_heads = num_heads
        self.wq, self.wk, self.wv, self.wo = (nn.Linear(d_model, d_model, bias=False) for _ in range(4))

    def forward(self, x, causal_mask=None, pad_mask=None):
        bsz, seqlen, dim = x.shape
        head_dim = dim // self.num_heads
        xq, xk, xv = self.wq(x), self.wk(x), self.wv(x)
        xq = xq.view(bsz, seqlen, self.num_heads, head_dim)
        xk = xk.view(bsz, seqlen, self.num_heads, head_dim)
        xv = xv.view(bsz, seqlen, self.num_heads, head_dim)
        xq, keys, values = (t.transpose(1, 2) for t in (xq, xk, xv))
        scores = torch.matmul(xq, keys.transpose(2, 3)) / math.sqrt(head_dim)
        if causal_mask is not None:
            scores = scores + torch.zeros_like(causal_mask, dtype=x.dtype).masked_fill(~causal_mask, float("-inf"))
        if pad_mask is not None:
            scores = scores.masked_fill(~pad_mask[:, None, None, :], float("-inf"))
        output = torch.matmul(softmax(scores), values)
        output = output.transpose(1, 2).contiguous().view(bsz, seqlen, -1)
        return self.wo(output)
