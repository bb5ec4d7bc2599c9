import torch, math
import torch.nn as nn

class MultiHeadSelfAttention(nn.Module):
    # additive float mask: 0 where visible, a huge negative number where not
    def __init__(self, d_model, num_heads):
        super().__init__()
        if d_model % num_heads != 0:
            raise RuntimeError("The hidden size (%d) is not a multiple of the number of attention heads (%d)" % (d_model, num_heads))
        self.num_attention_heads = num_heads
        self.attention_head_size = int(d_model / num_heads)
        self.all_head_size = self.num_attention_heads * self.attention_head_size
        self.query = nn.Linear(d_model, self.all_head_size)
        self.key = nn.Linear(d_model, self.all_head_size)
        self.value = nn.Linear(d_model, self.all_head_size)
        self.dense = nn.Linear(self.all_head_size, d_model)

    def transpose_for_scores(self, x):
        new_x_shape = x.size()[:-1] + (self.num_attention_heads, self.attention_head_size)
        x = x.view(*new_x_shape)
        return x.permute(0, 2, 1, 3)

    def forward(self, x, causal_mask=None, pad_mask=None):
        extended = torch.zeros(x.size(0), 1, x.size(1), x.size(1), dtype=x.dtype, device=x.device)
        if causal_mask is not None:
            extended = extended + (1.0 - causal_mask.to(x.dtype)) * -1e9
        if pad_mask is not None:
            extended = extended + (1.0 - pad_mask.to(x.dtype))[:, None, None, :] * -1e9

        query_layer = self.transpose_for_scores(self.query(x))
        key_layer = self.transpose_for_scores(self.key(x))
        value_layer = self.transpose_for_scores(self.value(x))

        attention_scores = torch.matmul(query_layer, key_layer.transpose(-1, -2))
        attention_scores = attention_scores + extended
        attention_scores = attention_scores / math.sqrt(self.attention_head_size)
        attention_probs = nn.functional.softmax(attention_scores, dim=-1)

        context_layer = torch.matmul(attention_probs, value_layer)
        context_layer = context_layer.permute(0, 2, 1, 3).contiguous()
        new_context_layer_shape = context_layer.size()[:-2] + (self.all_head_size,)
        context_layer = context_layer.view(*new_context_layer_shape)
        return self.dense(context_layer)
