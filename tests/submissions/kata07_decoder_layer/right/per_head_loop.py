import torch
import torch.nn as nn
import torch.nn.functional as F


class Head(nn.Module):
    def __init__(self, d_model, head_size):
        super().__init__()
        self.key = nn.Linear(d_model, head_size, bias=False)
        self.query = nn.Linear(d_model, head_size, bias=False)
        self.value = nn.Linear(d_model, head_size, bias=False)

    def forward(self, x, context, mask):
        k, q, v = self.key(context), self.query(x), self.value(context)
        wei = q @ k.transpose(-2, -1) * k.shape[-1] ** -0.5
        if mask is not None:
            wei = wei.masked_fill(mask == 0, float("-inf"))
        return F.softmax(wei, dim=-1) @ v


class MultiHead(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.heads = nn.ModuleList([Head(d_model, d_model // num_heads) for _ in range(num_heads)])
        self.proj = nn.Linear(d_model, d_model)

    def forward(self, x, context, mask=None):
        return self.proj(torch.cat([h(x, context, mask) for h in self.heads], dim=-1))


class DecoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__()
        self.sa = MultiHead(d_model, num_heads)
        self.ca = MultiHead(d_model, num_heads)
        self.ffwd = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model), nn.Dropout(dropout))
        self.ln1, self.ln2, self.ln3 = nn.LayerNorm(d_model), nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, memory, causal_mask=None, pad_mask=None, memory_pad_mask=None):
        mask = torch.ones(x.shape[0], x.shape[1], x.shape[1], dtype=torch.bool, device=x.device)
        if causal_mask is not None:
            mask = mask & causal_mask
        if pad_mask is not None:
            # padded queries look at everything, so that nothing of theirs is NaN
            mask = (mask & pad_mask.unsqueeze(1)) | ~pad_mask.unsqueeze(2)
        x = self.ln1(x + self.dropout(self.sa(x, x, mask)))
        x = self.ln2(x + self.dropout(self.ca(x, memory, None if memory_pad_mask is None else memory_pad_mask[:, None])))
        return self.ln3(x + self.ffwd(x))


def causal_mask(length, device=None):
    return torch.tril(torch.ones(length, length, device=device)) == 1
