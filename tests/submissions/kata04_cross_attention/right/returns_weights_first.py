import torch
import torch.nn as nn
import torch.nn.functional as F


class MultiHeadCrossAttention(nn.Module):
    """Returns (attention, output), as some tutorials do."""

    def __init__(self, d_model, num_heads):
        super().__init__()
        assert d_model % num_heads == 0
        self.num_heads = num_heads
        self.depth = d_model // num_heads
        self.w_query = nn.Linear(d_model, d_model)
        self.w_key = nn.Linear(d_model, d_model)
        self.w_value = nn.Linear(d_model, d_model)
        self.dense = nn.Linear(d_model, d_model)

    def split_heads(self, t):
        return t.reshape(t.shape[0], t.shape[1], self.num_heads, self.depth).permute(0, 2, 1, 3)

    def forward(self, x, memory, pad_mask=None):
        q = self.split_heads(self.w_query(x))
        k = self.split_heads(self.w_key(memory))
        v = self.split_heads(self.w_value(memory))
        logits = torch.matmul(q, k.transpose(-1, -2)) / torch.sqrt(torch.tensor(self.depth, dtype=x.dtype))
        if pad_mask is not None:
            logits += (1 - pad_mask.int())[:, None, None, :] * -1e9
        attention_weights = F.softmax(logits, dim=-1)
        output = torch.matmul(attention_weights, v).permute(0, 2, 1, 3)
        output = self.dense(output.reshape(x.shape[0], -1, self.num_heads * self.depth))
        return attention_weights, output
