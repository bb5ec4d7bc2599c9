import torch
import torch.nn as nn


class MultiHeadCrossAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        assert d_model % num_heads == 0
        self.num_heads = num_heads
        self.query_linear = nn.Linear(d_model, d_model)
        self.key_linear = nn.Linear(d_model, d_model)
        self.value_linear = nn.Linear(d_model, d_model)
        self.output_linear = nn.Linear(d_model, d_model)

    def forward(self, x, memory, pad_mask=None):
        B, L, D = x.shape
        q = self.query_linear(x).view(B, L, self.num_heads, -1).transpose(1, 2)
        k = self.key_linear(memory).view(B, memory.shape[1], self.num_heads, -1).transpose(1, 2)
        v = self.value_linear(memory).view(B, memory.shape[1], self.num_heads, -1).transpose(1, 2)
        scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
        if pad_mask is not None:
            scores = scores.masked_fill(pad_mask.unsqueeze(1).unsqueeze(3) == False, -1e9)
        probs = torch.softmax(scores, dim=-1)
        return self.output_linear((probs @ v).transpose(1, 2).reshape(B, L, D))
