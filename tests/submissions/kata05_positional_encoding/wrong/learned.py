import torch
from torch import nn


class PositionalEncoding(nn.Module):
    """Learned positions, as in BERT."""

    def __init__(self, d_model, max_len=5000):
        super().__init__()
        self.position_embeddings = nn.Embedding(max_len, d_model)

    def forward(self, x):
        ids = torch.arange(x.size(1), device=x.device)
        return x + self.position_embeddings(ids)
