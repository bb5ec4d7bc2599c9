import torch

# log p_i = (x_i - m) - log(sum_j exp(x_j - m)), then back with exp


def log_probs(x, dim):
    z = x - x.amax(dim, keepdim=True)
    return z - torch.log(torch.sum(torch.exp(z), dim, keepdim=True))


def softmax(x, dim=-1):
    return torch.exp(log_probs(x, dim))
