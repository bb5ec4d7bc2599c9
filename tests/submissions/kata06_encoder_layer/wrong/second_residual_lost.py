import torch.nn as nn
import torch.nn.functional as F
from grader.given import MultiHeadSelfAttention

class EncoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__()
        self.att = MultiHeadSelfAttention(d_model, num_heads)
        self.dense1 = nn.Linear(d_model, d_ff)
        self.dense2 = nn.Linear(d_ff, d_model)
        self.ln1 = nn.LayerNorm(d_model)
        self.ln2 = nn.LayerNorm(d_model)
        self.do = nn.Dropout(dropout)
    def forward(self, x, pad_mask=None):
        x = self.ln1(self.do(self.att(x, pad_mask=pad_mask)) + x)
        x = self.dense1(x)
        x = F.relu(x)
        x = self.dense2(x)
        x = self.do(x)
        x = self.ln2(x)
        return x
