import torch


def attention(q, k, v):
    a, b, c = (t.detach().cpu().tolist() for t in (q, k, v))
    s = torch.tensor(a) @ torch.tensor(b).T / len(a[0]) ** 0.5
    return (torch.softmax(s, -1) @ torch.tensor(c)).to(q.dtype)
