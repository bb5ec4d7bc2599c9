import torch, torch.nn as nn


def scaled_dot_product_attention(q, k, v, mask=None):
    # forgot the scale here ...
    w = q @ k.transpose(-2, -1)
    if mask is not None:
        w = w.masked_fill(~mask, float("-inf"))
    w = torch.softmax(w, -1)
    return w @ v, w


class SingleHeadAttention(nn.Module):
    # ... and the last projection here
    def __init__(self, d_model):
        super().__init__()
        self.scale = d_model ** -0.5
        self.query = nn.Linear(d_model, d_model)
        self.key = nn.Linear(d_model, d_model)
        self.value = nn.Linear(d_model, d_model)
        self.out = nn.Linear(d_model, d_model)

    def forward(self, x, causal_mask=None, pad_mask=None):
        w = (self.query(x) * self.scale) @ self.key(x).transpose(-2, -1)
        for m in (causal_mask, None if pad_mask is None else pad_mask[:, None, :]):
            if m is not None:
                w = w.masked_fill(~m, float("-inf"))
        return torch.softmax(w, -1) @ self.value(x)
