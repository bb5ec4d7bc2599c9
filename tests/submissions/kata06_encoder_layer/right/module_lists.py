import torch
import torch.nn as nn
from grader.given import MultiHeadSelfAttention


class EncoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__()
        self.sublayers = nn.ModuleList([
            MultiHeadSelfAttention(d_model, num_heads),
            nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model)),
        ])
        self.norms = nn.ModuleList(nn.LayerNorm(d_model) for _ in range(2))
        self.dropouts = nn.ModuleList(nn.Dropout(dropout) for _ in range(2))

    def forward(self, x, pad_mask=None):
        for i, (f, norm, dropout) in enumerate(zip(self.sublayers, self.norms, self.dropouts)):
            y = f(x, pad_mask=pad_mask) if i == 0 else f(x)
            x = norm(x + dropout(y))
        return x
