import torch.nn.functional as F
from torch import nn
from grader.given import MultiHeadSelfAttention


class EncoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__()
        self.dropout = dropout
        self.mha = MultiHeadSelfAttention(d_model, num_heads)
        self.ffn1 = nn.Linear(d_model, d_ff)
        self.ffn2 = nn.Linear(d_ff, d_model)
        self.n1 = nn.LayerNorm(d_model)
        self.n2 = nn.LayerNorm(d_model)

    def forward(self, x, pad_mask=None):
        sa = F.dropout(self.mha(x, pad_mask=pad_mask), p=self.dropout)
        x = self.n1(x + sa)
        ff = F.dropout(self.ffn2(F.relu(self.ffn1(x))), p=self.dropout)
        return self.n2(x + ff)
