import torch
from torch import nn
from grader.given import MultiHeadCrossAttention, MultiHeadSelfAttention


def causal_mask(length, device=None):
    return torch.ones(length, length, device=device).tril().bool()


class DecoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__()
        self.attn1 = MultiHeadSelfAttention(d_model, num_heads)
        self.attn2 = MultiHeadCrossAttention(d_model, num_heads)
        self.lin1 = nn.Linear(d_model, d_ff)
        self.lin2 = nn.Linear(d_ff, d_model)
        self.n1 = nn.LayerNorm(d_model)
        self.n2 = nn.LayerNorm(d_model)
        self.n3 = nn.LayerNorm(d_model)
        self.d = nn.Dropout(dropout)

    def forward(self, x, memory, causal_mask=None, pad_mask=None, memory_pad_mask=None):
        h = self.n1(x + self.d(self.attn1(x, causal_mask, pad_mask)))
        h = self.n2(h + self.d(self.attn2(h, h, pad_mask)))
        out = self.lin2(torch.relu(self.lin1(h)))
        return self.n3(self.d(out))
