import torch
from torch import nn

from grader.given import MultiHeadSelfAttention


class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-12):
        super(LayerNorm, self).__init__()
        self.gamma = nn.Parameter(torch.ones(d_model))
        self.beta = nn.Parameter(torch.zeros(d_model))
        self.eps = eps

    def forward(self, x):
        mean = x.mean(-1, keepdim=True)
        var = x.var(-1, unbiased=False, keepdim=True)
        # '-1' means last dimension.

        out = (x - mean) / torch.sqrt(var + self.eps)
        out = self.gamma * out + self.beta
        return out


class EncoderLayer(nn.Module):

    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super(EncoderLayer, self).__init__()
        self.attention = MultiHeadSelfAttention(d_model=d_model, num_heads=num_heads)
        self.norm1 = LayerNorm(d_model=d_model)
        self.dropout1 = nn.Dropout(p=dropout)

        self.ffn = nn.ModuleDict({"linear1": nn.Linear(d_model, d_ff), "linear2": nn.Linear(d_ff, d_model)})
        self.relu = nn.ReLU()
        self.norm2 = LayerNorm(d_model=d_model)
        self.dropout2 = nn.Dropout(p=dropout)

    def forward(self, x, pad_mask=None):
        # 1. compute self attention
        _x = x
        x = self.attention(x, pad_mask=pad_mask)

        # 2. add and norm
        x = self.dropout1(x)
        x = self.norm1(x + _x)

        # 3. positionwise feed forward network
        _x = x
        x = self.ffn["linear2"](self.relu(self.ffn["linear1"](x)))

        # 4. add and norm
        x = self.dropout2(x)
        x = self.norm2(x + _x)
        return x
