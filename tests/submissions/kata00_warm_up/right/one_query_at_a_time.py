import torch


def one(query, k, v):
    scores = query[None] @ k.T / query.numel() ** 0.5
    return torch.softmax(scores, dim=1) @ v


def attention(q, k, v):
    return torch.vmap(one, in_dims=(0, None, None))(q, k, v).squeeze(1)
