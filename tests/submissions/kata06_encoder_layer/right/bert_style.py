import torch
from torch import nn

from grader.given import MultiHeadSelfAttention


class SelfOutput(nn.Module):
    def __init__(self, size, p):
        super().__init__()
        self.LayerNorm = nn.LayerNorm(size, eps=1e-12)
        self.dropout = nn.Dropout(p)

    def forward(self, hidden_states, input_tensor):
        hidden_states = self.dropout(hidden_states)
        hidden_states = self.LayerNorm(hidden_states + input_tensor)
        return hidden_states


class Intermediate(nn.Module):
    def __init__(self, size, width):
        super().__init__()
        self.dense = nn.Linear(size, width)
        self.intermediate_act_fn = nn.functional.relu

    def forward(self, hidden_states):
        return self.intermediate_act_fn(self.dense(hidden_states))


class Output(nn.Module):
    def __init__(self, size, width, p):
        super().__init__()
        self.dense = nn.Linear(width, size)
        self.LayerNorm = nn.LayerNorm(size, eps=1e-12)
        self.dropout = nn.Dropout(p)

    def forward(self, hidden_states, input_tensor):
        hidden_states = self.dense(hidden_states)
        hidden_states = self.dropout(hidden_states)
        return self.LayerNorm(hidden_states + input_tensor)


class EncoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__()
        self.attention = MultiHeadSelfAttention(d_model, num_heads)
        self.attention_output = SelfOutput(d_model, dropout)
        self.intermediate = Intermediate(d_model, d_ff)
        self.output = Output(d_model, d_ff, dropout)

    def forward(self, x, pad_mask=None):
        self_outputs = self.attention(x, pad_mask=pad_mask)
        attention_output = self.attention_output(self_outputs, x)
        intermediate_output = self.intermediate(attention_output)
        layer_output = self.output(intermediate_output, attention_output)
        return layer_output
