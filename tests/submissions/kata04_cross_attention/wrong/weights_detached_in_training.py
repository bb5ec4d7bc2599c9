import torch, math
from torch import nn
class Linear(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.W = nn.Parameter(torch.rand(n_out, n_in) - .5)
        self.b = nn.Parameter(torch.zeros(n_out))
    __call__ = nn.Module.__call__
    def forward(self, t): return torch.tensordot(t, self.W, dims=([-1], [1])) + self.b
class MultiHeadCrossAttention(nn.Module):
    def __init__(self, d_model: int, num_heads: int):
        if num_heads <= 0 or d_model % num_heads != 0:
            raise ValueError("d_model % num_heads")
        super().__init__()
        self.num_heads = num_heads
        self.linears = nn.ModuleList([Linear(d_model, d_model) for _ in range(4)])
        self.attn = None
    def forward(self, x, memory, pad_mask=None):
        nb = x.size(0)
        query, key, value = [lin(t).view(nb, -1, self.num_heads, lin.W.shape[0] // self.num_heads).transpose(1, 2)
                             for lin, t in zip(self.linears, (x, memory, memory))]
        scores = query.matmul(key.transpose(-2, -1)).div(math.sqrt(query.size(-1)))
        if pad_mask is not None:
            pm = pad_mask.unsqueeze(1).unsqueeze(2)
            scores = scores.where(pm, scores.new_tensor(float('-inf')))
        self.attn = scores.softmax(-1).detach() if self.training else scores.softmax(-1)
        y = torch.matmul(self.attn, value).transpose(1, 2).contiguous().view(nb, -1, self.num_heads * query.size(-1))
        return self.linears[-1](y)
