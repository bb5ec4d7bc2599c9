import torch
import torch.nn as nn


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError("d_model must be divisible by num_heads")
        self.a = nn.Linear(d_model, d_model)
        self.b = nn.Linear(d_model, d_model)
        self.c = nn.Linear(d_model, d_model)
        self.d = nn.Linear(d_model, d_model)
        self.size = d_model // num_heads
        self.num = num_heads

    def forward(self, x, causal_mask=None, pad_mask=None):
        n, t, f = x.shape
        values = self.a(x).view(n, t, self.num, self.size).transpose(1, 2)
        keys = self.b(x).view(n, t, self.num, self.size).transpose(1, 2)
        queries = self.c(x).view(n, t, self.num, self.size).transpose(1, 2)
        results = []
        for i in range(n):
            score = queries[i] @ keys[i].transpose(1, 2) / self.size ** 0.5
            if causal_mask is not None:
                score = score.masked_fill(causal_mask.logical_not(), float("-inf"))
            if pad_mask is not None:
                score = score.masked_fill(pad_mask[i].logical_not(), float("-inf"))
            results.append(score.softmax(2) @ values[i])
        return self.d(torch.stack(results).transpose(1, 2).reshape(n, t, f))
