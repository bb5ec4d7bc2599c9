import math

import torch.nn as nn


# For a matrix nn.Softmax() takes the last dimension by itself, and warns.
def attention(q, k, v):
    scores = q @ k.T / math.sqrt(k.shape[1])
    return nn.Softmax()(scores) @ v
