import math

import torch
import torch.nn.functional as F
from torch import nn

from grader.given import MultiHeadSelfAttention


class EncoderLayer(nn.Module):
    """The feed-forward network as two matrices, the norms as four vectors."""

    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__()
        self.p = dropout
        self.attn = MultiHeadSelfAttention(d_model, num_heads)
        self.W1 = nn.Parameter(torch.randn(d_model, d_ff) / math.sqrt(d_model))
        self.b1 = nn.Parameter(torch.zeros(d_ff))
        self.W2 = nn.Parameter(torch.randn(d_ff, d_model) / math.sqrt(d_ff))
        self.b2 = nn.Parameter(torch.zeros(d_model))
        self.gamma1 = nn.Parameter(torch.ones(d_model))
        self.beta1 = nn.Parameter(torch.zeros(d_model))
        self.gamma2 = nn.Parameter(torch.ones(d_model))
        self.beta2 = nn.Parameter(torch.zeros(d_model))

    def forward(self, x, pad_mask=None):
        h = F.dropout(self.attn(x, pad_mask=pad_mask), self.p, self.training)
        x = F.layer_norm(x + h, x.shape[-1:], self.gamma1, self.beta1)
        h = torch.relu(x @ self.W1 + self.b1) @ self.W2 + self.b2
        h = F.dropout(h, self.p, training=self.training)
        return F.layer_norm(x + h, x.shape[-1:], self.gamma2, self.beta2)
