import torch
from torch import nn
from grader.given import MultiHeadSelfAttention


class EncoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__()
        self.attention = MultiHeadSelfAttention(d_model, num_heads)
        self.attention_norm = nn.LayerNorm(d_model)
        self.mlp = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))
        self.mlp_norm = nn.LayerNorm(d_model)
        self.attention_dropout = nn.Dropout(dropout)
        self.output_dropout = nn.Dropout(dropout)

    def forward(self, x, pad_mask=None):
        x = self.attention_norm(self.attention_dropout(self.attention(x, pad_mask=pad_mask)))
        x = self.mlp_norm(x + self.mlp(x))
        return self.output_dropout(x)
