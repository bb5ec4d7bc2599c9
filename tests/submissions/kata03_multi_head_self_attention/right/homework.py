# hw3 problem 2
# TA said True = keep, so where() the other way round from pytorch MHA !!!
import torch
from torch import nn
from math import *



class MultiHeadSelfAttention(nn.Module):
  def __init__(self,d_model,num_heads):
    super().__init__()
    if(d_model%num_heads!=0):
      raise Exception("bad")
    self.n=num_heads ; self.d=d_model//num_heads
    self.Q=nn.Linear(d_model,d_model)
    self.K=nn.Linear(d_model,d_model)
    self.V=nn.Linear(d_model,d_model)
    self.last=nn.Linear(d_model,d_model)

  def forward(self,x,causal_mask=None,pad_mask=None):
    b=x.shape[0]; l=x.shape[1]
    q=self.Q(x) ; k=self.K(x) ; v=self.V(x)
    q=q.reshape(b,l,self.n,self.d).permute(0,2,1,3)
    k=k.reshape(b,l,self.n,self.d).permute(0,2,3,1)   # already transposed
    v=v.reshape(b,l,self.n,self.d).permute(0,2,1,3)
    s=torch.matmul(q,k)/sqrt(self.d)
    small=torch.finfo(s.dtype).min
    if causal_mask!=None:
      s=torch.where(causal_mask.view(1,1,l,l),s,small)
    if pad_mask!=None:
      s=torch.where(pad_mask.view(b,1,1,l).expand(b,self.n,l,l),s,small)
    a=nn.Softmax(dim=3)(s)
    # print(a.sum(-1))
    z=torch.matmul(a,v)
    z=z.permute(0,2,1,3).reshape(b,l,self.n*self.d)
    z=self.last(z)
    return z


if __name__=="__main__":
  m=MultiHeadSelfAttention(8,2)
  t=torch.randn(2,3,8)
  print(m(t).shape)
  assert False, "never run while grading"
