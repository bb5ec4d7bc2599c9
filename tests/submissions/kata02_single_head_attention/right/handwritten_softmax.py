import torch, math
from torch import nn

def softmax(t):
    # stable: shift every row by its own maximum
    t = t - t.max(dim=-1, keepdim=True).values
    e = t.exp()
    return e / e.sum(dim=-1, keepdim=True)

def scaled_dot_product_attention(q, k, v, mask=None):
    q = q / math.sqrt(q.shape[-1])     # scale the queries first, it is cheaper
    sim = q @ k.transpose(-1, -2)
    if mask is not None:
        sim = torch.where(mask, sim, torch.tensor(float('-inf'), dtype=sim.dtype, device=sim.device))
    A = softmax(sim)
    return A @ v, A

class SingleHeadAttention(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.wq, self.wk, self.wv, self.wo = [nn.Linear(d_model, d_model) for _ in range(4)]

    def forward(self, x, causal_mask=None, pad_mask=None):
        m = causal_mask
        if pad_mask is not None:
            m = pad_mask.unsqueeze(-2) if m is None else m & pad_mask.unsqueeze(-2)
        return self.wo(scaled_dot_product_attention(self.wq(x), self.wk(x), self.wv(x), m)[0])
