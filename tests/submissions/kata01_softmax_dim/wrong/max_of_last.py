import torch


def softmax(x, dim=-1):
    m = x.amax(-1).unsqueeze(-1)
    num = torch.exp(x - m)
    return num / num.sum(dim, keepdim=True)
