import torch
import torch.nn as nn
from grader.given import MultiHeadSelfAttention, MultiHeadCrossAttention

class PoswiseFeedForwardNet(nn.Module):
    def __init__(self, d_model, d_ff, dropout):
        super().__init__()
        self.conv1 = nn.Conv1d(in_channels=d_model, out_channels=d_ff, kernel_size=1)
        self.conv2 = nn.Conv1d(in_channels=d_ff, out_channels=d_model, kernel_size=1)
        self.layer_norm = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, inputs):
        residual = inputs # inputs : [batch_size, len_q, d_model]
        output = nn.ReLU()(self.conv1(inputs.transpose(1, 2)))
        output = self.dropout(self.conv2(output).transpose(1, 2))
        return self.layer_norm(output + residual)

class DecoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__()
        self.dec_self_attn = MultiHeadSelfAttention(d_model, num_heads)
        self.self_attn_norm = nn.LayerNorm(d_model)
        self.dec_enc_attn = MultiHeadCrossAttention(d_model, num_heads)
        self.cross_attn_norm = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)
        self.pos_ffn = PoswiseFeedForwardNet(d_model, d_ff, dropout)

    def forward(self, x, memory, causal_mask=None, pad_mask=None, memory_pad_mask=None):
        dec_outputs = self.self_attn_norm(self.dropout(self.dec_self_attn(x, causal_mask, pad_mask)) + x)
        dec_outputs = self.cross_attn_norm(self.dropout(self.dec_enc_attn(dec_outputs, memory, memory_pad_mask)) + dec_outputs)
        dec_outputs = self.pos_ffn(dec_outputs)
        return dec_outputs

def causal_mask(length, device=None):
    subsequence_mask = [[int(key > query) for key in range(length)] for query in range(length)] # Upper triangular matrix
    return torch.tensor(subsequence_mask, device=device) == 0
