import torch


def attention(q, k, v):
    w = torch.einsum("qd,kd->qk", q, k).mul(q.shape[-1] ** -0.5).softmax(-1)
    return torch.einsum("qk,kd->qd", w, k)
