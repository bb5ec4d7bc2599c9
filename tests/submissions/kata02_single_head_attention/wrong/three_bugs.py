import torch
import torch.nn as nn
import torch.nn.functional as F


class SingleHeadAttention(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.fc_q, self.fc_k = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
        self.fc_v, self.fc_out = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)

    def forward(self, x, causal_mask=None, pad_mask=None):
        mask = None
        if causal_mask is not None:
            mask = causal_mask
        if pad_mask is not None:
            mask = pad_mask.unsqueeze(1) if mask is None else mask * pad_mask.unsqueeze(1)
        z, att = scaled_dot_product_attention(self.fc_q(x), self.fc_k(x), self.fc_v(x), mask)
        return z


def scaled_dot_product_attention(q, k, v, mask=None):
    energy = torch.matmul(q, k.transpose(-2, -1))
    if mask is not None:
        energy = energy + mask.float()
    att = F.softmax(energy, dim=-1)
    return torch.matmul(att, v), att
