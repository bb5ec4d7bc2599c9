"""Every argument must be given; the batch is walked in Python."""
import torch
from torch import nn

from grader.given import MultiHeadCrossAttention, MultiHeadSelfAttention


class FFN(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.layer1 = nn.Linear(d_model, d_ff)
        self.layer2 = nn.Linear(d_ff, d_model)

    def forward(self, x):
        return self.layer2(torch.nn.functional.relu(self.layer1(x)))


class DecoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout):
        super().__init__()
        self.attn_1 = MultiHeadSelfAttention(d_model, num_heads)
        self.attn_2 = MultiHeadCrossAttention(d_model, num_heads)
        self.ffn = FFN(d_model, d_ff)
        self.norm_1 = nn.LayerNorm(d_model)
        self.norm_2 = nn.LayerNorm(d_model)
        self.norm_3 = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def one(self, x, memory, causal_mask, pad, memory_pad):
        x = self.norm_1(x + self.dropout(self.attn_1(x, causal_mask, pad)))
        x = self.norm_2(x + self.dropout(self.attn_2(x, memory, memory_pad)))
        return self.norm_3(x + self.dropout(self.ffn(x)))

    def forward(self, x, memory, causal_mask, pad_mask, memory_pad_mask):
        rows = []
        for b in range(x.shape[0]):
            row = slice(b, b + 1)
            rows.append(
                self.one(
                    x[row],
                    memory[row],
                    causal_mask,
                    None if pad_mask is None else pad_mask[row],
                    None if memory_pad_mask is None else memory_pad_mask[row],
                )
            )
        return torch.cat(rows)


def causal_mask(length, device):
    return torch.ones(length, length, dtype=torch.bool).tril().to(device=device)
