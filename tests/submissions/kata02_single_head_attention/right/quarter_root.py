from torch import nn
import torch


def scaled_dot_product_attention(q, k, v, mask=None):
    """Both sides by the fourth root of d, as whisper does."""
    scale = q.shape[-1] ** -0.25
    qk = (q * scale) @ (k * scale).transpose(-2, -1)
    if mask is not None:
        qk = qk.masked_fill(~mask, torch.finfo(qk.dtype).min)
    w = nn.functional.softmax(qk, dim=-1)
    return w @ v, w


class SingleHeadAttention(nn.Module):
    """Does not use the function above, and writes everything out again."""

    def __init__(self, d_model):
        super().__init__()
        self.d_model = d_model
        self.scale = d_model ** -0.5
        self.linears = nn.ModuleList([nn.Linear(d_model, d_model) for _ in range(4)])

    def forward(self, x, causal_mask=None, pad_mask=None):
        q, k, v = [layer(x) for layer in self.linears[:3]]
        att = torch.bmm(q, k.permute(0, 2, 1)) * self.scale
        if causal_mask is not None:
            att.masked_fill_(causal_mask.logical_not(), float("-inf"))
        if pad_mask is not None:
            att.masked_fill_(pad_mask.logical_not()[:, None], float("-inf"))
        return self.linears[-1](torch.bmm(att.softmax(-1), v))
