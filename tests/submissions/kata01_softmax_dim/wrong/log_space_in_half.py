import torch

# log p_i = x_i - m - log(sum_j exp(x_j - m)), then back with exp


def log_probs(x, dim):
    m = x.amax(dim, keepdim=True)
    lse = m + torch.log(torch.sum(torch.exp(x - m), dim, keepdim=True))
    return x - lse


def softmax(x, dim=-1):
    return torch.exp(log_probs(x, dim))
