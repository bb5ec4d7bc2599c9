import torch
import torch.nn as nn
from math import sqrt


def scaled_dot_product_attention(q, k, v, mask=None):
    score = q.matmul(k.transpose(-2, -1)) / sqrt(k.size(-1))
    if mask is not None:
        score[~mask.expand_as(score)] = float("-inf")
    prob = torch.softmax(score, -1)
    return prob.matmul(v), prob


class SingleHeadAttention(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.fc_q = nn.Linear(d_model, d_model)
        self.fc_k = nn.Linear(d_model, d_model)
        self.fc_v = nn.Linear(d_model, d_model)
        self.fc_o = nn.Linear(d_model, d_model)

    def forward(self, x, causal_mask=None, pad_mask=None):
        b, n, _ = x.size()
        mask = x.new_ones(b, n, n).bool()
        if pad_mask is not None:
            mask &= pad_mask.view(b, 1, n)
        if causal_mask is not None:
            mask &= causal_mask
        ctx, attention = scaled_dot_product_attention(self.fc_q(x), self.fc_k(x), self.fc_v(x), mask)
        return self.fc_o(ctx), attention
