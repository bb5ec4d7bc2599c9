import torch
import torch.nn.functional as F


def attention(q, k, v):
    d_k = torch.tensor(q.shape[-1], dtype=torch.float32)
    scores = torch.matmul(q, k.transpose(0, 1)) / torch.sqrt(d_k)
    return torch.matmul(F.softmax(scores, dim=-1), v)
