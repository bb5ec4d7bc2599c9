import math
import torch
import torch.nn as nn


class MultiHeadCrossAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError("num_heads")
        self.n_heads = num_heads
        self.d_k = d_model // num_heads
        self.fc_q = nn.Linear(d_model, d_model)
        self.fc_k = nn.Linear(d_model, d_model)
        self.fc_v = nn.Linear(d_model, d_model)
        self.fc = nn.Linear(d_model, d_model)

    def forward(self, x, memory, pad_mask=None):
        # TODO pad_mask
        b = x.shape[0]
        q = self.fc_q(x).reshape(b, -1, self.n_heads, self.d_k).permute(0, 2, 1, 3)
        k = self.fc_k(memory).reshape(b, -1, self.n_heads, self.d_k).permute(0, 2, 3, 1)
        v = self.fc_v(memory).reshape(b, -1, self.n_heads, self.d_k).permute(0, 2, 1, 3)
        attn = torch.softmax(q.matmul(k) / math.sqrt(self.d_k), dim=-1)
        out = attn.matmul(v)
        out = out.reshape(b, -1, self.n_heads * self.d_k)
        return self.fc(out)
