import math
import torch
from torch import nn


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.h = num_heads
        self.d = d_model // num_heads
        assert self.h * self.d == d_model
        self.fc_q = nn.Linear(d_model, d_model)
        self.fc_k = nn.Linear(d_model, d_model)
        self.fc_v = nn.Linear(d_model, d_model)
        self.fc_o = nn.Linear(d_model, d_model)

    def heads(self, t):
        return torch.stack(t.split(self.d, dim=-1), dim=1)      # B h L d

    def forward(self, x, causal_mask=None, pad_mask=None):
        Q, K, V = self.heads(self.fc_q(x)), self.heads(self.fc_k(x)), self.heads(self.fc_v(x))
        A = torch.softmax(Q @ K.mT / math.sqrt(self.d), dim=-1)
        # strike hidden keys out, then make each row sum to one again
        if causal_mask is not None:
            A = A * causal_mask
            A = A / A.sum(-1, keepdim=True)
        if pad_mask is not None:
            A = A * pad_mask[:, None, None, :]
            A = A / A.sum(-1, keepdim=True)
        O = torch.cat(torch.unbind(A @ V, dim=1), dim=-1)
        return self.fc_o(O)
