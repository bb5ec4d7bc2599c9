import torch

# first version, row by row. slow but I understand it

def softmax(x, dim = -1):
    y = x.transpose(dim, -1)
    shape = y.shape
    rows = y.reshape(-1, shape[-1])
    out = []
    for i in range(rows.shape[0]):
        row = rows[i]
        row = row - row.max()
        e = torch.exp(row)
        out.append(e / torch.sum(e))
    y = torch.stack(out).reshape(shape)
    return y.transpose(dim, -1)
