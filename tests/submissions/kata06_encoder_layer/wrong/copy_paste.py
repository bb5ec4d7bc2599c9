import torch
import torch.nn as nn
from grader.given import MultiHeadSelfAttention

class EncoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__()
        self.attn_layer = MultiHeadSelfAttention(d_model, num_heads)
        self.fc_1 = nn.Linear(d_model, d_ff)
        self.fc_2 = nn.Linear(d_ff, d_model)
        self.layer_norm_1 = nn.LayerNorm(d_model)
        self.layer_norm_2 = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, pad_mask=None):
        _x = self.attn_layer(x, pad_mask=pad_mask)
        x = self.layer_norm_1(x + self.dropout(_x))
        _x = self.fc_2(self.fc_1(x))
        x = self.layer_norm_1(x + self.dropout(_x))
        return x
