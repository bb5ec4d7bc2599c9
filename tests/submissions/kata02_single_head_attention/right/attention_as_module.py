import torch
import torch.nn as nn


class ScaledDotProductAttention(nn.Module):
    ''' Scaled Dot-Product Attention '''

    def __init__(self, temperature, attn_dropout=0.1):
        super().__init__()
        self.temperature = temperature
        self.dropout = nn.Dropout(attn_dropout)

    def forward(self, q, k, v, mask=None):
        attn = torch.matmul(q / self.temperature, k.transpose(-2, -1))
        if mask is not None:
            attn = attn.masked_fill(mask == 0, -1e9)
        attn = self.dropout(torch.softmax(attn, dim=-1))
        output = torch.matmul(attn, v)
        return output, attn


def scaled_dot_product_attention(q, k, v, mask=None):
    module = ScaledDotProductAttention(temperature=q.size(-1) ** 0.5, attn_dropout=0.0)
    return module(q, k, v, mask=mask)


class SingleHeadAttention(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.w_qs = nn.Linear(d_model, d_model, bias=False)
        self.w_ks = nn.Linear(d_model, d_model, bias=False)
        self.w_vs = nn.Linear(d_model, d_model, bias=False)
        self.attention = ScaledDotProductAttention(temperature=d_model ** 0.5)
        self.fc = nn.Linear(d_model, d_model, bias=False)

    def forward(self, x, causal_mask=None, pad_mask=None):
        mask = torch.ones(1, 1, 1, dtype=torch.bool, device=x.device)
        if causal_mask is not None:
            mask = mask & causal_mask
        if pad_mask is not None:
            # also blank the rows of padded queries: nobody reads them
            mask = mask & pad_mask.unsqueeze(1) & pad_mask.unsqueeze(2)
        x, _ = self.attention(self.w_qs(x), self.w_ks(x), self.w_vs(x), mask)
        x = self.fc(x)
        if pad_mask is not None:
            x = x * pad_mask.unsqueeze(-1)
        return x
