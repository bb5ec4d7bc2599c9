import torch as T


def _last(z):
    z = z - z.max(-1, True).values
    z = T.exp(z)
    return z / z.sum(-1, True)


def softmax(x, dim=-1):
    # bring the wanted dim to the end, work there, bring it back
    return T.movedim(_last(T.movedim(x, dim, -1)), -1, dim)
