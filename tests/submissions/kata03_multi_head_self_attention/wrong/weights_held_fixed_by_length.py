import torch.nn.functional as F
from torch import nn


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        assert d_model % num_heads == 0
        self.num_heads = num_heads
        self.qkv = nn.Linear(d_model, 3 * d_model)
        self.out = nn.Linear(d_model, d_model)

    def forward(self, x, causal_mask=None, pad_mask=None):
        b, n, d = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.num_heads, -1).permute(2, 0, 3, 1, 4)
        att = q @ k.transpose(-1, -2) / k.size(-2) ** 0.5
        if causal_mask is not None:
            att = att.masked_fill(causal_mask.logical_not(), -1e9)
        if pad_mask is not None:
            att = att.masked_fill(pad_mask.logical_not().view(b, 1, 1, n), -1e9)
        att = F.softmax(att, dim=-1).detach()
        return self.out((att @ v).transpose(1, 2).reshape(b, n, d))
