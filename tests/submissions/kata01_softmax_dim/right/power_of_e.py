import math


def softmax(x, dim=-1, temperature=1.0):
    scaled = x / temperature
    scaled = scaled - scaled.max(dim=dim, keepdim=True)[0]
    numerator = math.e ** scaled
    denominator = numerator.sum(dim=dim, keepdim=True)
    return numerator / denominator
