import torch


def softmax(x, dim=-1):
    # accumulate in float32 like the CUDA kernels do, give back what we got
    z = x.to(torch.float32)
    z = torch.exp(z - z.amax(dim=dim, keepdim=True))
    return (z / z.sum(dim=dim, keepdim=True)).to(x.dtype)
