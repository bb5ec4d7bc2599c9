import torch
from torch import nn
from torch.nn import functional as F

from grader.given import MultiHeadSelfAttention


class EncoderLayer(nn.Module):
    """Everything but the attention is bare parameters, the feed-forward without biases."""

    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__()
        self.p = dropout
        self.mha = MultiHeadSelfAttention(d_model, num_heads)
        self.W1 = nn.Parameter(torch.randn(d_model, d_ff) / d_model**0.5)
        self.W2 = nn.Parameter(torch.randn(d_ff, d_model) / d_ff**0.5)
        self.g = nn.ParameterList([torch.ones(d_model), torch.ones(d_model)])
        self.b = nn.ParameterList([torch.zeros(d_model), torch.zeros(d_model)])

    def add_norm(self, i, x, y):
        y = F.dropout(y, p=self.p, training=self.training)
        return F.layer_norm(x + y, x.shape[-1:], self.g[i], self.b[i], 1e-12)

    def forward(self, x, pad_mask=None):
        h = self.add_norm(0, x, self.mha(x, pad_mask=pad_mask))
        u = torch.einsum("bld,df->blf", h, self.W1).clamp(min=0)
        return self.add_norm(1, h, u @ self.W2)
