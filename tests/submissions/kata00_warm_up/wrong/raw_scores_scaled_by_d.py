def attention(q, k, v):
    return (q @ k.T / q.shape[-1]) @ v
