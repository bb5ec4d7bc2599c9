import torch


def attention(q, k, v):
    rows = []
    for query in q:
        scores = [sum(a * b for a, b in zip(query, key)) / len(query) ** 0.5 for key in k]
        most = max(scores)
        powers = [torch.exp(score - most) for score in scores]
        rows.append(sum(p * value for p, value in zip(powers, v)) / sum(powers))
    return torch.stack(rows)
