import math
import torch
import torch.nn as nn


class SelfOrCross(nn.Module):
    def __init__(self, size, heads):
        super().__init__()
        self.num_attention_heads, self.attention_head_size = heads, size // heads
        self.query = nn.Linear(size, size)
        self.key = nn.Linear(size, size)
        self.value = nn.Linear(size, size)

    def transpose_for_scores(self, t):
        return t.view(*t.size()[:-1], self.num_attention_heads, self.attention_head_size).permute(0, 2, 1, 3)

    def forward(self, hidden_states, attention_mask, encoder_hidden_states):
        q = self.transpose_for_scores(self.query(hidden_states))
        k = self.transpose_for_scores(self.key(encoder_hidden_states))
        v = self.transpose_for_scores(self.value(encoder_hidden_states))
        scores = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(self.attention_head_size)
        if attention_mask is not None:
            scores = scores + attention_mask
        probs = nn.Softmax(dim=-1)(scores)
        context = torch.matmul(probs, v).permute(0, 2, 1, 3).contiguous()
        return context.view(*context.size()[:-2], -1), probs


class SelfOutput(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.dense = nn.Linear(size, size)

    def forward(self, hidden_states):
        return self.dense(hidden_states)


class MultiHeadCrossAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(
                f"The hidden size ({d_model}) is not a multiple of the number of attention heads ({num_heads})"
            )
        self.attention = SelfOrCross(d_model, num_heads)
        self.output = SelfOutput(d_model)

    def forward(self, x, memory, pad_mask=None):
        extended = None
        if pad_mask is not None:
            extended = (1.0 - pad_mask[:, None, None, :].to(x.dtype)) * torch.finfo(x.dtype).min
        context, _ = self.attention(x, extended, memory)
        return self.output(context)
