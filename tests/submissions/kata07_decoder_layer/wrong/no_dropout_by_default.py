import torch
import torch.nn.functional as F
from torch import nn
from grader.given import MultiHeadCrossAttention, MultiHeadSelfAttention
def causal_mask(length, device=None):
    return ~torch.triu(torch.ones(length, length, dtype=torch.bool, device=device), diagonal=1)
class DecoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.0):
        super().__init__()
        self.dropout_module = nn.Dropout(dropout)
        self.self_attn = MultiHeadSelfAttention(d_model, num_heads)
        self.self_attn_layer_norm = nn.LayerNorm(d_model)
        self.encoder_attn = MultiHeadCrossAttention(d_model, num_heads)
        self.encoder_attn_layer_norm = nn.LayerNorm(d_model)
        self.fc1 = nn.Linear(d_model, d_ff)
        self.fc2 = nn.Linear(d_ff, d_model)
        self.final_layer_norm = nn.LayerNorm(d_model)
    def residual_connection(self, x, residual):
        return residual + x
    def forward(self, x, memory, causal_mask=None, pad_mask=None, memory_pad_mask=None):
        residual = x
        x = self.self_attn(x, causal_mask=causal_mask, pad_mask=pad_mask)
        x = self.dropout_module(x)
        x = self.residual_connection(x, residual)
        x = self.self_attn_layer_norm(x)
        residual = x
        x = self.encoder_attn(x, memory, pad_mask=memory_pad_mask)
        x = self.dropout_module(x)
        x = self.residual_connection(x, residual)
        x = self.encoder_attn_layer_norm(x)
        residual = x
        x = F.relu(self.fc1(x))
        x = self.fc2(x)
        x = self.dropout_module(x)
        x = self.residual_connection(x, residual)
        return self.final_layer_norm(x)
