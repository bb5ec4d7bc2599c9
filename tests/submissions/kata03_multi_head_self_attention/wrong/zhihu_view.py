import torch
import torch.nn as nn


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super(MultiHeadSelfAttention, self).__init__()
        assert d_model % num_heads == 0
        self.dim_per_head = d_model // num_heads
        self.num_heads = num_heads
        self.linear_k = nn.Linear(d_model, self.dim_per_head * num_heads)
        self.linear_v = nn.Linear(d_model, self.dim_per_head * num_heads)
        self.linear_q = nn.Linear(d_model, self.dim_per_head * num_heads)
        self.linear_final = nn.Linear(d_model, d_model)

    def forward(self, x, causal_mask=None, pad_mask=None):
        dim_per_head = self.dim_per_head
        num_heads = self.num_heads
        batch_size = x.size(0)

        key = self.linear_k(x)
        value = self.linear_v(x)
        query = self.linear_q(x)

        # split by heads
        key = key.view(batch_size * num_heads, -1, dim_per_head)
        value = value.view(batch_size * num_heads, -1, dim_per_head)
        query = query.view(batch_size * num_heads, -1, dim_per_head)

        attention = torch.bmm(query, key.transpose(1, 2)) * dim_per_head ** -0.5
        if causal_mask is not None:
            attention = attention.masked_fill(~causal_mask, float("-inf"))
        if pad_mask is not None:
            hide = ~pad_mask.repeat_interleave(num_heads, dim=0).unsqueeze(1)
            attention = attention.masked_fill(hide, float("-inf"))
        attention = torch.softmax(attention, dim=2)
        context = torch.bmm(attention, value)

        # concat heads
        context = context.view(batch_size, -1, dim_per_head * num_heads)
        return self.linear_final(context)
