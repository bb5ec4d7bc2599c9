import torch.nn as nn

class ResidualBlock(nn.Module):
    def __init__(self, d_model, sublayer, dropout=0.0, norm_first=False):
        super(ResidualBlock, self).__init__()
        self.layer_norm = nn.LayerNorm(d_model)
        self.module = sublayer
        self.resid_drop = nn.Dropout(dropout)
        self.pre = norm_first

    def forward(self, hidden_states, *inputs, **options):
        if self.pre == True:
            normed = self.layer_norm(hidden_states)
            out = self.module(normed, *inputs, **options)
            out = self.resid_drop(out)
            hidden_states = hidden_states + out
        else:
            out = self.module(hidden_states, *inputs, **options)
            out = self.resid_drop(out)
            hidden_states = hidden_states + out
            hidden_states = self.layer_norm(hidden_states)
        return hidden_states
