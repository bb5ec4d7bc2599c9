"""Residual and norm in a block of their own, as the d2l book has them."""
import torch
from torch import nn

from grader.given import MultiHeadCrossAttention, MultiHeadSelfAttention


def causal_mask(length, device=None):
    positions = torch.arange(length, device=device)
    return positions.unsqueeze(1) >= positions.unsqueeze(0)


class AddNorm(nn.Module):
    def __init__(self, norm_shape, dropout):
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.ln = nn.LayerNorm(norm_shape)

    def forward(self, X, Y):
        return self.ln(self.dropout(Y) + X)


class PositionWiseFFN(nn.Module):
    def __init__(self, ffn_num_inputs, ffn_num_hiddens, ffn_num_outputs):
        super().__init__()
        self.dense1 = nn.Linear(ffn_num_inputs, ffn_num_hiddens)
        self.relu = nn.ReLU()
        self.dense2 = nn.Linear(ffn_num_hiddens, ffn_num_outputs)

    def forward(self, X):
        return self.dense2(self.relu(self.dense1(X)))


class DecoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__()
        self.attention1 = MultiHeadSelfAttention(d_model, num_heads)
        self.addnorm1 = AddNorm(d_model, dropout)
        self.attention2 = MultiHeadCrossAttention(d_model, num_heads)
        self.addnorm2 = AddNorm(d_model, dropout)
        self.ffn = PositionWiseFFN(d_model, d_ff, d_model)
        self.addnorm3 = AddNorm(d_model, dropout)

    def forward(self, x, memory, causal_mask=None, pad_mask=None, memory_pad_mask=None):
        X2 = self.attention1(x, causal_mask, pad_mask)
        Y = self.addnorm1(x, X2)
        Y2 = self.attention2(Y, memory, memory_pad_mask)
        Z = self.addnorm2(Y, Y2)
        return self.addnorm3(Z, self.ffn(Z))
