import torch
import torch.nn as nn


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super(MultiHeadSelfAttention, self).__init__()
        self.embed_size = d_model
        self.heads = num_heads
        self.head_dim = d_model // num_heads

        assert (self.head_dim * num_heads == d_model), "Embed size needs to be div by heads"

        self.values = nn.Linear(self.head_dim, self.head_dim, bias=False)
        self.keys = nn.Linear(self.head_dim, self.head_dim, bias=False)
        self.queries = nn.Linear(self.head_dim, self.head_dim, bias=False)
        self.fc_out = nn.Linear(num_heads * self.head_dim, d_model)

    def forward(self, x, causal_mask=None, pad_mask=None):
        N, length = x.shape[0], x.shape[1]
        x = x.reshape(N, length, self.heads, self.head_dim)
        values = self.values(x)
        keys = self.keys(x)
        queries = self.queries(x)

        energy = torch.einsum("nqhd,nkhd->nhqk", [queries, keys])
        if causal_mask is not None:
            energy = energy.masked_fill(causal_mask == 0, float("-1e20"))
        if pad_mask is not None:
            energy = energy.masked_fill(pad_mask[:, None, None, :] == 0, float("-1e20"))

        attention = torch.softmax(energy / (self.head_dim ** (1 / 2)), dim=3)
        out = torch.einsum("nhql,nlhd->nqhd", [attention, values]).reshape(N, length, self.heads * self.head_dim)
        return self.fc_out(out)
