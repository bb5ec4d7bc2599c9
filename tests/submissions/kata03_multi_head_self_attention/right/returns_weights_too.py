import torch
import torch.nn as nn
import torch.nn.functional as F
import math


class ScaledDotProductAttention(nn.Module):
    ''' Scaled Dot-Product Attention '''

    def __init__(self, temperature, attn_dropout=0.1):
        super().__init__()
        self.temperature = temperature
        self.dropout = nn.Dropout(attn_dropout)

    def forward(self, q, k, v, mask=None):
        attn = torch.matmul(q / self.temperature, k.transpose(2, 3))
        if mask is not None:
            attn = attn.masked_fill(mask == 0, -1e9)
        attn = self.dropout(F.softmax(attn, dim=-1))
        output = torch.matmul(attn, v)
        return output, attn


class MultiHeadSelfAttention(nn.Module):
    ''' Multi-Head Attention module '''

    def __init__(self, d_model, num_heads):
        super().__init__()
        assert d_model % num_heads == 0
        self.n_head = num_heads
        self.d_k = self.d_v = d_model // num_heads
        self.w_qs = nn.Linear(d_model, num_heads * self.d_k, bias=False)
        self.w_ks = nn.Linear(d_model, num_heads * self.d_k, bias=False)
        self.w_vs = nn.Linear(d_model, num_heads * self.d_v, bias=False)
        self.fc = nn.Linear(num_heads * self.d_v, d_model, bias=False)
        self.attention = ScaledDotProductAttention(temperature=math.pow(self.d_k, 0.5))

    def forward(self, x, causal_mask=None, pad_mask=None):
        sz_b, len_q = x.size(0), x.size(1)
        q = self.w_qs(x).view(sz_b, len_q, self.n_head, self.d_k)
        k = self.w_ks(x).view(sz_b, len_q, self.n_head, self.d_k)
        v = self.w_vs(x).view(sz_b, len_q, self.n_head, self.d_v)
        q, k, v = q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)

        mask = None
        for m in (
            causal_mask if causal_mask is None else causal_mask[None, None],
            pad_mask if pad_mask is None else pad_mask[:, None, None, :],
        ):
            if m is not None:
                mask = m if mask is None else (mask & m)

        q, attn = self.attention(q, k, v, mask=mask)
        q = q.transpose(1, 2).contiguous().view(sz_b, len_q, -1)
        return self.fc(q), attn
