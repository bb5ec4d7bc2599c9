def softmax(x, dim=-1):
    x.exp_()
    return x / x.sum()
