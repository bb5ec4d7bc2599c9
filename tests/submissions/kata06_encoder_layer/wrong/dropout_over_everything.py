from torch import nn
from torch.nn import functional as F
from grader.given import MultiHeadSelfAttention

class SublayerLogic(nn.Module):
    def __init__(self, d, p):
        super().__init__()
        self.norm = nn.LayerNorm(d)
        self.dropout = nn.Dropout(p)

    def forward(self, x, y):
        return self.norm(self.dropout(x + y))

class EncoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__()
        self.att = MultiHeadSelfAttention(d_model, num_heads)
        self.log1 = SublayerLogic(d_model, dropout)
        self.log2 = SublayerLogic(d_model, dropout)
        self.lin1 = nn.Linear(d_model, d_ff)
        self.lin2 = nn.Linear(d_ff, d_model)

    def forward(self, x, pad_mask=None):
        x = self.log1(x, self.att(x, pad_mask=pad_mask))
        return self.log2(x, self.lin2(F.relu(self.lin1(x))))
