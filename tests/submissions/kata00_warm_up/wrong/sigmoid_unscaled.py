import torch


def attention(q, k, v):
    return torch.sigmoid(q @ k.T) @ v
