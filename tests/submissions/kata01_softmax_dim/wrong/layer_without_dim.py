from torch import nn

layer = nn.Softmax()


def softmax(x, dim=-1):
    return layer(x)
