import torch


def attention(q, k, v):
    # A column for each query, all the way.
    scores = (k @ q.T) / q.shape[-1] ** 0.5
    weights = scores.softmax(dim=0)
    return (v.T @ weights).T
