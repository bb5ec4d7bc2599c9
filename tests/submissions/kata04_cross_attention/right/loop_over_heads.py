import math
import torch
import torch.nn as nn


class MultiHeadCrossAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.d_model = d_model
        self.num_heads = num_heads
        self.d_head = d_model // num_heads
        assert self.d_head * num_heads == d_model
        self.q_mappings = nn.ModuleList([nn.Linear(d_model, self.d_head) for _ in range(num_heads)])
        self.k_mappings = nn.ModuleList([nn.Linear(d_model, self.d_head) for _ in range(num_heads)])
        self.v_mappings = nn.ModuleList([nn.Linear(d_model, self.d_head) for _ in range(num_heads)])
        self.out_proj = nn.Linear(d_model, d_model)
        self.softmax = nn.Softmax(dim=-1)

    def forward(self, x, memory, pad_mask=None):
        heads = []
        for q_mapping, k_mapping, v_mapping in zip(self.q_mappings, self.k_mappings, self.v_mappings):
            q = q_mapping(x)
            k = k_mapping(memory)
            v = v_mapping(memory)
            scores = torch.bmm(q, k.transpose(1, 2)) / math.sqrt(self.d_head)
            if pad_mask is not None:
                scores = scores.masked_fill(~pad_mask.unsqueeze(1), float("-inf"))
            heads.append(torch.bmm(self.softmax(scores), v))
        return self.out_proj(torch.cat(heads, dim=2))
