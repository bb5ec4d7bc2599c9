import torch
import torch.nn as nn
import torch.nn.functional as F


def scaled_dot_product_attention(q, k, v, mask=None):
    rescaled = q @ k.transpose(-2, -1) / k.shape[-1] ** 0.5
    if mask is not None:
        rescaled = rescaled.masked_fill(mask == 0, -1e9)
    weights = F.softmax(rescaled, dim=-2)
    return weights @ v, weights


class SingleHeadAttention(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.q_dense = nn.Linear(d_model, d_model)
        self.k_dense = nn.Linear(d_model, d_model)
        self.v_dense = nn.Linear(d_model, d_model)
        self.o_dense = nn.Linear(d_model, d_model)

    def forward(self, x, causal_mask=None, pad_mask=None):
        q, k, v = F.relu(self.q_dense(x)), F.relu(self.k_dense(x)), F.relu(self.v_dense(x))
        mask = None
        if causal_mask is not None:
            mask = causal_mask.unsqueeze(0)
        if pad_mask is not None:
            mask = pad_mask.unsqueeze(1) if mask is None else mask & pad_mask.unsqueeze(1)
        out, _ = scaled_dot_product_attention(q, k, v, mask)
        return self.o_dense(out)
