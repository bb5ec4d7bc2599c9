import torch
from torch import nn


class EncoderLayer(nn.Module):
    """Uses torch's attention, whose mask means the opposite."""

    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__()
        self.attn = nn.MultiheadAttention(d_model, num_heads, dropout=dropout, batch_first=True)
        self.ff1 = nn.Linear(d_model, d_ff)
        self.ff2 = nn.Linear(d_ff, d_model)
        self.norm_1 = nn.LayerNorm(d_model)
        self.norm_2 = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, pad_mask=None):
        hidden = None if pad_mask is None else torch.logical_not(pad_mask)
        attended, _ = self.attn(x, x, x, key_padding_mask=hidden, need_weights=False)
        x = self.norm_1(x + self.dropout(attended))
        return self.norm_2(x + self.dropout(self.ff2(torch.relu(self.ff1(x)))))
