import torch
from torch import nn

from grader.given import MultiHeadCrossAttention, MultiHeadSelfAttention


def causal_mask(length, device=None):
    i = torch.arange(length, device=device)
    return i[None, :] <= i[:, None]


class DecoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__()
        self.self_attn = MultiHeadSelfAttention(d_model, num_heads)
        self.src_attn = MultiHeadCrossAttention(d_model, num_heads)
        self.ln1, self.ln2, self.ln3 = (nn.LayerNorm(d_model) for _ in range(3))
        self.fc1, self.fc2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, memory, causal_mask=None, pad_mask=None, memory_pad_mask=None):
        x = self.ln1(x + self.dropout(self.self_attn(x, causal_mask, pad_mask)))
        x = self.ln2(x + self.dropout(self.src_attn(x, memory)))
        return self.ln3(x + self.dropout(self.fc2(self.fc1(x))))
