import torch
import torch.nn as nn


class MultiHeadCrossAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        assert d_model % num_heads == 0
        self.nhead, self.hdim = num_heads, d_model // num_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.kv_proj = nn.Linear(d_model, 2 * d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def forward(self, x, memory, pad_mask=None):
        bsz, tgt, dim = x.shape
        src = memory.size(1)
        k, v = self.kv_proj(memory).chunk(2, dim=-1)
        fold = lambda t, n: t.reshape(bsz, n, self.nhead, self.hdim).transpose(1, 2).reshape(-1, n, self.hdim)
        q, k, v = fold(self.q_proj(x), tgt), fold(k, src), fold(v, src)
        w = torch.bmm(q, k.transpose(1, 2)) / self.hdim ** 0.5
        if pad_mask is not None:
            mask = torch.cat([pad_mask] * self.nhead, dim=0).unsqueeze(1)
            w = w.masked_fill(~mask, float("-inf"))
        o = torch.bmm(w.softmax(-1), v)
        o = o.view(bsz, self.nhead, tgt, self.hdim).transpose(1, 2).reshape(bsz, tgt, dim)
        return self.out_proj(o)
