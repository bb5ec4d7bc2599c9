import torch
from torch import nn
from grader.given import MultiHeadCrossAttention, MultiHeadSelfAttention
def causal_mask(length, device=None):
    return torch.ones(length, length, dtype=torch.bool, device=device).tril()
class DecoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__()
        self.sa = MultiHeadSelfAttention(d_model, num_heads)
        self.ca = MultiHeadCrossAttention(d_model, num_heads)
        self.l1 = nn.Linear(d_model, d_ff)
        self.l2 = nn.Linear(d_ff, d_model)
        self.n1 = nn.LayerNorm(d_model)
        self.n2 = nn.LayerNorm(d_model)
        self.n3 = nn.LayerNorm(d_model)
        self.dr = nn.Dropout(dropout)
    def forward(self, x, memory, causal_mask=None, pad_mask=None, memory_pad_mask=None):
        if causal_mask is not None: causal_mask &= torch.ones_like(causal_mask).tril()
        x = self.n1(x + self.dr(self.sa(x, causal_mask, pad_mask)))
        x = self.n2(x + self.dr(self.ca(x, memory, memory_pad_mask)))
        return self.n3(x + self.dr(self.l2(self.l1(x).relu())))
