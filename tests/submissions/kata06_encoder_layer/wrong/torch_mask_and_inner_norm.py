import torch
from torch import nn
from grader.given import MultiHeadSelfAttention


class EncoderLayer(nn.Module):
    # mask: True = padding, as in nn.MultiheadAttention
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__()
        self.mha = MultiHeadSelfAttention(d_model, num_heads)
        self.ln1 = nn.LayerNorm(d_model)
        self.ln2 = nn.LayerNorm(d_model)
        self.l1 = nn.Linear(d_model, d_ff)
        self.l2 = nn.Linear(d_ff, d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, pad_mask=None):
        if pad_mask is not None:
            pad_mask = ~pad_mask
        a = self.dropout(self.mha(x, pad_mask=pad_mask))
        x = self.ln1(x + a)
        f = self.dropout(self.l2(torch.relu(self.l1(x))))
        return x + self.ln2(f)
