import torch
import torch.nn as nn


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        assert d_model % num_heads == 0, "d_model must be divisible by num_heads"
        self.nhead = num_heads
        self.hdim = d_model // num_heads
        self.lin_q = nn.Linear(d_model, d_model)
        self.lin_k = nn.Linear(d_model, d_model)
        self.lin_v = nn.Linear(d_model, d_model)
        self.lin_out = nn.Linear(d_model, d_model)

    def forward(self, x, causal_mask=None, pad_mask=None):
        b, t = x.shape[:2]
        q = self.lin_q(x).view(b, t, self.nhead, self.hdim).transpose(1, 2)
        k = self.lin_k(x).view(b, t, self.nhead, self.hdim).transpose(1, 2)
        v = self.lin_v(x).view(b, t, self.nhead, self.hdim).transpose(1, 2)
        logits = (q @ k.transpose(-1, -2)) * (self.hdim ** -0.5)
        for mask in (causal_mask, pad_mask):
            if mask is not None:
                logits = logits.masked_fill(mask.logical_not(), float("-inf"))
        return self.lin_out((logits.softmax(-1) @ v).transpose(1, 2).flatten(2))
