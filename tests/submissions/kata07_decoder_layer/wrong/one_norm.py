import torch
from torch import nn
from grader.given import MultiHeadCrossAttention, MultiHeadSelfAttention


def causal_mask(length, device=None):
    return torch.ones(length, length, device=device).tril().to(torch.bool)


class DecoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__()
        self.self_attn = MultiHeadSelfAttention(d_model, num_heads)
        self.cross_attn = MultiHeadCrossAttention(d_model, num_heads)
        self.fc1, self.fc2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        # a norm has no state of its own, so one will do
        self.norm = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def add_norm(self, x, y):
        return self.norm(x + self.dropout(y))

    def forward(self, x, memory, causal_mask=None, pad_mask=None, memory_pad_mask=None):
        x = self.add_norm(x, self.self_attn(x, causal_mask, pad_mask))
        x = self.add_norm(x, self.cross_attn(x, memory, memory_pad_mask))
        x = self.add_norm(x, self.fc2(torch.relu(self.fc1(x))))
        return x
