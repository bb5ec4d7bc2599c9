import torch
from torch import nn


class MultiHeadCrossAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        assert d_model % num_heads == 0, (d_model, num_heads)
        self.n = num_heads
        self.toqueries = nn.Linear(d_model, d_model)
        self.tokeys = nn.Linear(d_model, d_model)
        self.tovalues = nn.Linear(d_model, d_model)
        self.unifyheads = nn.Linear(d_model, d_model)

    def forward(self, x, memory, pad_mask=None):
        b, t, e = x.size()
        s, h = memory.size(1), self.n
        queries = self.toqueries(x).view(b, t, h, e // h)
        keys = self.tokeys(memory).view(b, s, h, e // h)
        values = self.tovalues(memory).view(b, s, h, e // h)
        # fold heads into the batch dimension
        queries = queries.transpose(1, 2).reshape(b * h, t, e // h)
        keys = keys.transpose(1, 2).reshape(b * h, s, e // h)
        values = values.transpose(1, 2).reshape(b * h, s, e // h)
        queries = queries / ((e // h) ** (1 / 4))
        keys = keys / ((e // h) ** (1 / 4))
        dot = torch.bmm(queries, keys.mT).view(b, h, t, s)
        if pad_mask is not None:
            # strike hidden keys out of the exponentials themselves
            dot = dot - dot.amax(-1, keepdim=True).detach()
            dot = dot.exp() * pad_mask[:, None, None]
            dot = dot / dot.sum(-1, keepdim=True)
        else:
            dot = dot.softmax(-1)
        out = torch.bmm(dot.view(b * h, t, s), values).view(b, h, t, e // h)
        return self.unifyheads(out.transpose(1, 2).reshape(b, t, e))
