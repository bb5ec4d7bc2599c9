import torch,torch.nn as nn
class ResidualBlock(nn.Module):
 def __init__(s,d_model,sublayer,dropout=0.,norm_first=False):
  super().__init__();s.n=nn.LayerNorm(d_model);s.f=sublayer;s.d=nn.Dropout(dropout);s.p=norm_first
 def forward(s,x,*a,**k):
  i=lambda z:z
  u,v=(s.n,i) if s.p else (i,s.n)
  return v(x+s.d(s.f(u(x),*a,**k)))
