# my notes: decoder = masked attn -> cross attn -> ffn, add&norm after EVERY one!!
import torch
import torch.nn as nn
from grader.given import *
from grader.given import MultiHeadSelfAttention as MSA
from grader.given import MultiHeadCrossAttention as MCA

def causal_mask(length, device=None):
    m = []
    for i in range(length):
        row = []
        for j in range(length):
            if j <= i:
                row.append(True)
            else:
                row.append(False)
        m.append(row)
    return torch.tensor(m, device = device)

class DecoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__()
        self.dModel = d_model
        self.maskedAttn = MSA(d_model, num_heads)
        self.crossAttn = MCA(d_model, num_heads)
        self.ff1 = nn.Linear(d_model, d_ff)
        self.ff2 = nn.Linear(d_ff, d_model)
        self.ln1 = nn.LayerNorm(d_model)
        self.ln2 = nn.LayerNorm(d_model)
        self.ln3 = nn.LayerNorm(d_model)
        self.do = nn.Dropout(dropout)

    def forward(self, x, memory, causal_mask=None, pad_mask=None, memory_pad_mask=None):
        # masked self attention
        if causal_mask is not None and pad_mask is not None:
            o = self.maskedAttn(x, causal_mask, pad_mask)
        elif causal_mask is not None:
            o = self.maskedAttn(x, causal_mask)
        elif pad_mask is not None:
            o = self.maskedAttn(x, pad_mask=pad_mask)
        else:
            o = self.maskedAttn(x)
        o = self.do(o)
        o1 = self.ln1(o + x)
        # cross attention   (q from o1!!)
        if memory_pad_mask is not None:
            o = self.crossAttn(o1, memory, memory_pad_mask)
        else:
            o = self.crossAttn(o1, memory)
        o = self.do(o)
        o2 = self.ln2(o + o1)
        # feed forward
        o = self.ff1(o2)
        o = torch.maximum(o, torch.zeros_like(o))
        o = self.ff2(o)
        o = self.do(o)
        o3 = self.ln3(o + o2)
        return o3

if __name__ == "__main__":
    layer = DecoderLayer(16, 4, 32)
    print(layer(torch.randn(2, 3, 16), torch.randn(2, 5, 16), causal_mask(3)).shape)
