import math
import torch
import torch.nn as nn

class PositionalEncoding(nn.Module):

    def __init__(self, d_model, max_len=5000):
        super().__init__()
        pe = torch.zeros(max_len, d_model)
        for pos in range(max_len):
            for i in range(0, d_model, 2):
                theta = pos / (10000 ** (i / d_model))   # i is already 2i
                pe[pos, i] = math.sin(theta)
                if i + 1 < d_model:
                    pe[pos, i + 1] = math.cos(theta)
        self.register_buffer('pe', pe)
        self.pe.require_grad = False     # does nothing, harmless

    def forward(self, x):
        seq_len = x.size(1)
        pe = self.pe[:seq_len, :]
        pe.unsqueeze(0)   # not needed
        out = x + pe
        return out
