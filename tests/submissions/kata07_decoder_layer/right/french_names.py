# décodeur : trois sous-couches
import torch
from torch import nn
from torch.nn.functional import relu

from grader.given import MultiHeadCrossAttention, MultiHeadSelfAttention


def causal_mask(length: int, device=None) -> torch.Tensor:
    lignes, colonnes = torch.tril_indices(length, length, device=device)
    masque = torch.zeros(length, length, dtype=torch.bool, device=device)
    masque[lignes, colonnes] = True
    return masque


class DecoderLayer(nn.Module):
    def __init__(self, d_model: int, num_heads: int, d_ff: int, dropout: float = 0.1):
        super().__init__()
        norme = lambda: nn.LayerNorm(d_model, eps=1e-9)
        self.attention_propre = MultiHeadSelfAttention(d_model, num_heads)
        self.norme_1 = norme()
        self.attention_memoire = MultiHeadCrossAttention(d_model, num_heads)
        self.norme_2 = norme()
        self.dense_1 = nn.Linear(d_model, d_ff)
        self.dense_2 = nn.Linear(d_ff, d_model)
        self.norme_3 = norme()
        self.oubli = nn.Dropout(dropout)

    def forward(self, x, memory, causal_mask=None, pad_mask=None, memory_pad_mask=None):
        y = x + self.oubli(self.attention_propre(x, causal_mask=causal_mask, pad_mask=pad_mask))
        y = self.norme_1(y)
        z = y + self.oubli(self.attention_memoire(y, memory=memory, pad_mask=memory_pad_mask))
        z = self.norme_2(z)
        w = z + self.oubli(self.dense_2(relu(self.dense_1(z))))
        return self.norme_3(w)
