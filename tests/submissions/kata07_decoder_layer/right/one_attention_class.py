import torch, math
import torch.nn as nn

class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout):
        super().__init__()
        assert d_model % num_heads == 0
        self.d_k = d_model // num_heads
        self.num_heads = num_heads
        self.W_q = nn.Linear(d_model, d_model)
        self.W_k = nn.Linear(d_model, d_model)
        self.W_v = nn.Linear(d_model, d_model)
        self.W_o = nn.Linear(d_model, d_model)
        self.attn_dropout = nn.Dropout(dropout)

    def split(self, t):
        b, n, _ = t.size()
        return t.view(b, n, self.num_heads, self.d_k).transpose(1, 2)

    def forward(self, Q, K, V, mask=None):
        q, k, v = self.split(self.W_q(Q)), self.split(self.W_k(K)), self.split(self.W_v(V))
        scores = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(self.d_k)
        if mask is not None:
            scores = scores.masked_fill(mask == 0, -1e9)
        attn = self.attn_dropout(torch.softmax(scores, dim=-1))
        out = torch.matmul(attn, v).transpose(1, 2).contiguous().view(Q.size(0), -1, self.num_heads * self.d_k)
        return self.W_o(out), attn

class DecoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__()
        self.mask_attention = MultiHeadAttention(d_model, num_heads, dropout)
        self.multi_head_attention = MultiHeadAttention(d_model, num_heads, dropout)
        self.fc1 = nn.Linear(d_model, d_ff)
        self.fc2 = nn.Linear(d_ff, d_model)
        self.layer_norm1 = nn.LayerNorm(d_model)
        self.layer_norm2 = nn.LayerNorm(d_model)
        self.layer_norm3 = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, memory, causal_mask=None, pad_mask=None, memory_pad_mask=None):
        tgt_mask = None
        if pad_mask is not None:
            tgt_mask = pad_mask[:, None, None, :]
        if causal_mask is not None:
            tgt_mask = causal_mask if tgt_mask is None else tgt_mask * causal_mask
        src_mask = memory_pad_mask[:, None, None, :] if memory_pad_mask is not None else None

        attn_output, self_weights = self.mask_attention(x, x, x, tgt_mask)
        x = self.layer_norm1(x + self.dropout(attn_output))
        attn_output, cross_weights = self.multi_head_attention(x, memory, memory, src_mask)
        x = self.layer_norm2(x + self.dropout(attn_output))
        ff_output = self.fc2(self.dropout(torch.relu(self.fc1(x))))
        x = self.layer_norm3(x + self.dropout(ff_output))
        return x, self_weights, cross_weights

def causal_mask(length, device=None):
    mask = torch.full((length, length), float("-inf"), device=device)
    mask = torch.triu(mask, diagonal=1)
    return mask == 0
