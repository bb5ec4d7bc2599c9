import torch.nn as nn
import torch.nn.functional as F
from grader.given import MultiHeadSelfAttention as MHA


class AttentionBlock(nn.Module):
    ''' attention with its own dropout, residual and norm '''

    def __init__(self, n_head, d_model, dropout):
        super().__init__()
        self.attention = MHA(d_model=d_model, num_heads=n_head)
        self.dropout = nn.Dropout(dropout)
        self.layer_norm = nn.LayerNorm(d_model, eps=1e-6)

    def forward(self, q, mask):
        residual = q
        q = self.dropout(self.attention(q, pad_mask=mask))
        q = q + residual
        return self.layer_norm(q)


class PositionwiseFeedForward(nn.Module):
    ''' A two-feed-forward-layer module '''

    def __init__(self, d_in, d_hid, dropout=0.1):
        super().__init__()
        self.w_1 = nn.Linear(d_in, d_hid) # position-wise
        self.w_2 = nn.Linear(d_hid, d_in) # position-wise
        self.layer_norm = nn.LayerNorm(d_in, eps=1e-6)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        residual = x
        x = self.w_2(F.relu(self.w_1(x)))
        x = self.dropout(x)
        x += residual
        x = self.layer_norm(x)
        return x


class EncoderLayer(nn.Module):
    ''' Compose with two layers '''

    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super(EncoderLayer, self).__init__()
        self.slf_attn = AttentionBlock(num_heads, d_model, dropout)
        self.pos_ffn = PositionwiseFeedForward(d_model, d_ff, dropout=dropout)

    def forward(self, x, pad_mask=None):
        enc_output = self.slf_attn(x, mask=pad_mask)
        enc_output = self.pos_ffn(enc_output)
        return enc_output
