from torch import nn
from grader.given import MultiHeadSelfAttention


class EncoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__()
        self.attention = MultiHeadSelfAttention(d_model, num_heads)
        self.norm = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)
        self.ffn = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))

    def add_and_norm(self, x, y):
        return self.norm(x + self.dropout(y))

    def forward(self, x, pad_mask=None):
        x = self.add_and_norm(x, self.attention(x, pad_mask=pad_mask))
        return self.add_and_norm(x, self.ffn(x))
