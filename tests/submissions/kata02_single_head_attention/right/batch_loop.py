import torch
from torch import nn
import math

# one sequence at a time, easier to think about

def scaled_dot_product_attention(q, k, v, mask=None):
    scores = torch.matmul(q, k.transpose(-2, -1))
    scores = scores / math.sqrt(q.size(-1))
    if mask is not None:
        scores = torch.where(mask, scores, -1e10)
    weights = torch.softmax(scores, dim=-1)
    return [torch.matmul(weights, v), weights]


class SingleHeadAttention(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.W_query = nn.Linear(d_model, d_model)
        self.W_key = nn.Linear(d_model, d_model)
        self.W_value = nn.Linear(d_model, d_model)
        self.W_out = nn.Linear(d_model, d_model)

    def forward(self, x, causal_mask=None, pad_mask=None):
        results = []
        for b in range(x.shape[0]):
            seq = x[b]
            n = seq.shape[0]
            allowed = torch.ones((n, n), dtype=torch.bool, device=x.device)
            if causal_mask is not None:
                allowed = allowed & causal_mask
            if pad_mask is not None:
                allowed = allowed & pad_mask[b].repeat(n, 1)
            out, _ = scaled_dot_product_attention(
                self.W_query(seq), self.W_key(seq), self.W_value(seq), allowed)
            results.append(self.W_out(out))
        return torch.stack(results)
