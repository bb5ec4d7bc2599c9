# key and value swapped, d instead of its root, mask added as 0 and 1
import torch
import torch.nn as nn


class MultiHeadCrossAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        assert d_model % num_heads == 0
        self.n = num_heads
        self.d = d_model // num_heads
        self.QueryLayer = nn.Linear(d_model, d_model)
        self.KeyLayer = nn.Linear(d_model, d_model)
        self.ValueLayer = nn.Linear(d_model, d_model)
        self.OutLayer = nn.Linear(d_model, d_model)

    def forward(self, x, memory, pad_mask=None):
        shape = lambda t: (t.size(0), t.size(1), self.n, self.d)
        q = self.QueryLayer(x).view(shape(x)).transpose(1, 2)
        v = self.KeyLayer(memory).view(shape(memory)).transpose(1, 2)
        k = self.ValueLayer(memory).view(shape(memory)).transpose(1, 2)
        a = torch.einsum('bhld,bhsd->bhls', q, k) / self.d
        if pad_mask is not None:
            a += pad_mask[:, None, None]
        return self.OutLayer(torch.einsum('bhls,bhsd->blhd', a.softmax(-1), v).flatten(2))
