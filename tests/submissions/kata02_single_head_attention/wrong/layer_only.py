import math

import torch
from torch import Tensor, nn


def scaled_dot_product_attention(q, k, v, mask=None):
    # TODO 1: compare every query with every key
    raise NotImplementedError


class SingleHeadAttention(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.query_layer = nn.Linear(d_model, d_model)
        self.key_layer = nn.Linear(d_model, d_model)
        self.value_layer = nn.Linear(d_model, d_model)
        self.final = nn.Linear(d_model, d_model)
        self.norm_factor = math.sqrt(d_model)

    def forward(self, x, causal_mask=None, pad_mask=None):
        query = self.query_layer(x)
        key = self.key_layer(x)
        value = self.key_layer(x)

        product = torch.matmul(query, key.transpose(-1, -2)) / self.norm_factor
        if causal_mask is not None:
            product = product.masked_fill(causal_mask == 0, float("-1e20"))
        if pad_mask is not None:
            product = product.masked_fill(pad_mask.unsqueeze(1) == 0, float("-1e20"))
        attention = torch.softmax(product, dim=-1)
        return self.final(torch.matmul(attention, value))
