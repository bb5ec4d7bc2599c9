import torch
from torch import nn


class MultiHeadCrossAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        assert d_model % num_heads == 0
        self.num_heads = num_heads
        self.fc_q = nn.Linear(d_model, d_model)
        self.fc_k = nn.Linear(d_model, d_model)
        self.fc_v = nn.Linear(d_model, d_model)
        self.fc_o = nn.Linear(d_model, d_model)

    def forward(self, x, memory, pad_mask=None):
        dim = x.shape[-1] // self.num_heads
        Q, K, V = self.fc_q(x), self.fc_k(memory), self.fc_v(memory)
        Q_ = torch.cat(Q.split(dim, 2), 0)          # heads stacked along the batch
        K_ = torch.cat(K.split(dim, 2), 0)
        V_ = torch.cat(V.split(dim, 2), 0)
        A = torch.softmax(Q_.bmm(K_.transpose(1, 2)) / dim ** 0.5, 2)
        if pad_mask is not None:
            A = A * pad_mask.repeat(self.num_heads, 1).unsqueeze(1)
            A = A / A.sum(dim=2, keepdim=True)
        O = torch.cat(A.bmm(V_).split(x.size(0), 0), 2)
        return self.fc_o(O)
