import torch
from torch import nn


def scaled_dot_product_attention(q, k, v, mask=None):
    # softmax in float32, as in LLaMA
    scores = torch.matmul(q, k.transpose(-2, -1)) * (q.shape[-1] ** -0.5)
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = torch.softmax(scores.float(), dim=-1).type_as(q)
    return torch.matmul(weights, v), weights


class SingleHeadAttention(nn.Module):
    def __init__(self, d_model: int):
        super().__init__()
        self.q_linear = nn.Linear(d_model, d_model, bias=False)
        self.k_linear = nn.Linear(d_model, d_model, bias=False)
        self.v_linear = nn.Linear(d_model, d_model, bias=False)
        self.o_linear = nn.Linear(d_model, d_model, bias=False)

    def forward(self, x, causal_mask=None, pad_mask=None):
        xq, xk, xv = self.q_linear(x), self.k_linear(x), self.v_linear(x)
        if pad_mask is None:
            keep = causal_mask
        elif causal_mask is None:
            keep = pad_mask[:, None, :]
        else:
            keep = causal_mask[None] & pad_mask[:, None, :]
        h, _ = scaled_dot_product_attention(xq, xk, xv, keep)
        return self.o_linear(h)
