from torch import nn
from torch.nn import functional as F
from grader.given import MultiHeadSelfAttention


class MLP(nn.Module):
    def __init__(self, n_embd, hidden, dropout):
        super().__init__()
        self.c_fc = nn.Linear(n_embd, hidden, bias=False)
        self.c_proj = nn.Linear(hidden, n_embd, bias=False)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        x = self.c_fc(x)
        x = F.relu(x)
        x = self.c_proj(x)
        x = self.dropout(x)
        return x


class EncoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__()
        self.attn = MultiHeadSelfAttention(d_model, num_heads)
        self.resid_dropout = nn.Dropout(dropout)
        self.ln_1 = nn.LayerNorm(d_model)
        self.mlp = MLP(d_model, d_ff, dropout)
        self.ln_2 = nn.LayerNorm(d_model)

    def forward(self, x, pad_mask=None):
        x = self.ln_1(x + self.resid_dropout(self.attn(x, pad_mask=pad_mask)))
        x = self.ln_2(x + self.mlp(x))
        return x
