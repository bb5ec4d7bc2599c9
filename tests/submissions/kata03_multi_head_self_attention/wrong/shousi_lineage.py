import torch
from torch import nn


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        assert d_model % num_heads == 0
        self.num_heads = num_heads
        self.head_dim = d_model // num_heads
        self.q_linear = nn.Linear(d_model, d_model)
        self.k_linear = nn.Linear(d_model, d_model)
        self.v_linear = nn.Linear(d_model, d_model)
        self.o_linear = nn.Linear(d_model, d_model)

    def split_head(self, x):
        batch_size = x.size(0)
        return x.view(batch_size, -1, self.num_heads, self.head_dim).transpose(1, 2)

    def forward(self, x, causal_mask=None, pad_mask=None):
        return self._forward(x, causal_mask, pad_mask)

    def _forward(self, hidden_state, causal_mask, pad_mask):
        batch_size = hidden_state.size()[0]
        query = self.split_head(self.q_linear(hidden_state))
        key = self.split_head(self.k_linear(hidden_state))
        value = self.split_head(self.v_linear(hidden_state))

        attention_scores = torch.matmul(query, key.transpose(-1, -2)) / self.head_dim ** 0.5
        if causal_mask is not None:
            attention_scores += (~causal_mask) * -1e-9
        if pad_mask is not None:
            attention_scores += (~pad_mask)[:, None, None, :] * -1e-9
        attention_probs = torch.softmax(attention_scores, dim=-1)
        output = torch.matmul(attention_probs, value)
        output = output.transpose(-1, -2).contiguous().view(batch_size, -1, self.head_dim * self.num_heads)
        return self.o_linear(output)
