from torch import nn, relu
from grader.given import MultiHeadSelfAttention

class EncoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__()
        self.attention = MultiHeadSelfAttention(d_model, num_heads)
        self.w_1 = nn.Linear(d_model, d_ff)
        self.w_2 = nn.Linear(d_ff, d_model)
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        self.drop1 = nn.Dropout(dropout)
        self.drop2 = nn.Dropout(dropout)

    def forward(self, x, pad_mask=None):
        attention_output = self.attention(x, pad_mask=pad_mask)[0]
        x = self.norm1(x + self.drop1(attention_output))
        return self.norm2(x + self.drop2(self.w_2(relu(self.w_1(x)))))
