import torch
from torch import nn


def my_softmax(z):
    num = torch.exp(z)
    return num / torch.sum(num, dim=-1, keepdim=True)


def scaled_dot_product_attention(q, k, v, mask=None):
    z = torch.einsum("...ld,...sd->...ls", q, k) / q.shape[-1] ** 0.5
    if mask is not None:
        z = z.masked_fill(mask.logical_not(), float("-inf"))
    a = my_softmax(z)
    return torch.einsum("...ls,...sd->...ld", a, v), a


class SingleHeadAttention(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.W_q = nn.Linear(d_model, d_model)
        self.W_k = nn.Linear(d_model, d_model)
        self.W_v = nn.Linear(d_model, d_model)
        self.W_o = nn.Linear(d_model, d_model)

    def forward(self, x, causal_mask=None, pad_mask=None):
        q, k, v = self.W_q(x), self.W_q(x), self.W_v(x)
        z = q.matmul(k.transpose(1, 2)) / x.size(-1) ** 0.5
        if causal_mask is not None:
            z = z.masked_fill(causal_mask.logical_not(), float("-inf"))
        if pad_mask is not None:
            z = z.masked_fill(pad_mask.logical_not().unsqueeze(1), float("-inf"))
        return self.W_o(z.softmax(dim=-1).matmul(v))
