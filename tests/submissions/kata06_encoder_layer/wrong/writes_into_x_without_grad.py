import torch
from torch import nn
import torch.nn.functional as F
from grader.given import MultiHeadSelfAttention
class EncoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__()
        self.attn = MultiHeadSelfAttention(d_model, num_heads)
        self.up = nn.Linear(d_model, d_ff)
        self.down = nn.Linear(d_ff, d_model)
        self.n1 = nn.LayerNorm(d_model)
        self.n2 = nn.LayerNorm(d_model)
        self.drop = nn.Dropout(dropout)
    def forward(self, x, pad_mask=None):
        a = self.attn(x, pad_mask=pad_mask)
        if not torch.is_grad_enabled(): x += self.drop(a); a = torch.zeros_like(a)
        h = self.n1(x + self.drop(a))
        f = self.down(torch.relu(self.up(h)))
        return self.n2(h + self.drop(f))
