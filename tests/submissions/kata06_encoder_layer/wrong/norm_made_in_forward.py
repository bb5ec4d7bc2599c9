import torch
import torch.nn as nn
import torch.nn.functional as F
from grader.given import MultiHeadSelfAttention

class PoswiseFeedForwardNet(nn.Module):
    def __init__(self, d_model, d_ff, p):
        super(PoswiseFeedForwardNet, self).__init__()
        self.fc1 = nn.Linear(d_model, d_ff)
        self.fc2 = nn.Linear(d_ff, d_model)
        self.drop = nn.Dropout(p)
        self.d_model = d_model
    def forward(self, inputs):
        residual = inputs
        output = self.fc2(F.relu(self.fc1(inputs)))
        return nn.LayerNorm(self.d_model)(self.drop(output) + residual)

class EncoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super(EncoderLayer, self).__init__()
        self.enc_self_attn = MultiHeadSelfAttention(d_model, num_heads)
        self.pos_ffn = PoswiseFeedForwardNet(d_model, d_ff, dropout)
        self.drop = nn.Dropout(dropout)
        self.d_model = d_model
    def forward(self, x, pad_mask=None):
        enc_outputs = self.enc_self_attn(x, pad_mask=pad_mask)
        enc_outputs = nn.LayerNorm(self.d_model)(self.drop(enc_outputs) + x)
        return self.pos_ffn(enc_outputs)
