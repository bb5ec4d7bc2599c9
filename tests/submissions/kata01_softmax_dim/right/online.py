"""Softmax with a running maximum and a running sum, as flash attention does it."""

import torch


def softmax(x, dim=-1):
    parts = x.unbind(dim)
    running_max = torch.full_like(parts[0], torch.finfo(x.dtype).min)
    running_sum = torch.zeros_like(parts[0])
    for part in parts:
        new_max = torch.maximum(running_max, part)
        running_sum = running_sum * (running_max - new_max).exp() + (part - new_max).exp()
        running_max = new_max
    return torch.stack([(p - running_max).exp() / running_sum for p in parts], dim)
