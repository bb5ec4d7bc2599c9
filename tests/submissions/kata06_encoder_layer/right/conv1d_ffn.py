import torch
from torch import nn
from grader.given import MultiHeadSelfAttention

class PoswiseFeedForwardNet(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.conv1 = nn.Conv1d(in_channels=d_model, out_channels=d_ff, kernel_size=1)
        self.conv2 = nn.Conv1d(in_channels=d_ff, out_channels=d_model, kernel_size=1)

    def forward(self, inputs):
        # inputs: [batch, len, d_model]
        output = nn.ReLU()(self.conv1(inputs.transpose(1, 2)))
        output = self.conv2(output).transpose(1, 2)
        return output

class EncoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout = 0.1):
        super().__init__()
        self.enc_self_attn = MultiHeadSelfAttention(d_model, num_heads)
        self.pos_ffn = PoswiseFeedForwardNet(d_model, d_ff)
        self.layer_norm1 = nn.LayerNorm(d_model)
        self.layer_norm2 = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, pad_mask = None):
        enc_inputs = x
        enc_outputs = self.enc_self_attn(enc_inputs, pad_mask = pad_mask)
        enc_outputs = self.layer_norm1(enc_inputs + self.dropout(enc_outputs))
        ffn_outputs = self.pos_ffn(enc_outputs)
        return self.layer_norm2(ffn_outputs.add(enc_outputs) if not self.training else self.dropout(ffn_outputs) + enc_outputs)
