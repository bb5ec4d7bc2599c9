import torch
from torch import nn


class MultiHeadCrossAttention(nn.Module):
    """Works on (tokens, batch, features) inside, and turns the result round again."""

    def __init__(self, d_model, num_heads):
        super().__init__()
        self.heads = num_heads
        self.head_size, rest = divmod(d_model, num_heads)
        if rest:
            raise ValueError("embed_dim must be divisible by num_heads")
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.out_proj = nn.Linear(d_model, d_model)
        self.dropout = nn.Dropout(0.1)

    def forward(self, x, memory, pad_mask=None):
        query, key = x.transpose(0, 1), memory.transpose(0, 1)
        tgt_len, bsz, _ = query.shape
        src_len = key.shape[0]
        q = self.q_proj(query).view(tgt_len, bsz * self.heads, self.head_size).transpose(0, 1)
        k = self.k_proj(key).view(src_len, bsz * self.heads, self.head_size).transpose(0, 1)
        v = self.v_proj(key).view(src_len, bsz * self.heads, self.head_size).transpose(0, 1)
        attn = torch.bmm(q * self.head_size ** -0.5, k.transpose(1, 2))
        if pad_mask is not None:
            attn = attn.view(bsz, self.heads, tgt_len, src_len)
            attn = attn.masked_fill(pad_mask.logical_not().unsqueeze(1).unsqueeze(2), float("-inf"))
            attn = attn.view(bsz * self.heads, tgt_len, src_len)
        attn = self.dropout(attn.softmax(-1))
        out = torch.bmm(attn, v).transpose(0, 1).reshape(tgt_len, bsz, -1)
        return self.out_proj(out).transpose(0, 1)
