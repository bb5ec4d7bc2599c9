# -*- coding: utf-8 -*-
# 单头注意力 (attempt nr. 3, now it works!!)
import torch
import torch.nn as nn
import torch.nn.functional as F
from math import *
def scaled_dot_product_attention(q,k,v,mask=None,dropout=None):
    """
    q: query   k: key   v: value
    """
    DK=q.size()[-1]
    QK=torch.matmul(q,k.transpose(-2,-1))
    #print("QK",QK.shape)
    S=QK/sqrt(DK)
    if mask!=None:
        # True = 可以看
        S=S.masked_fill(mask==False,-1e9)
    W=F.softmax(S,dim=-1)
    if dropout is not None: W=dropout(W)
    Out=torch.matmul(W,v)
    #print("out",Out.shape)
    return Out,W
class SingleHeadAttention(nn.Module):
    def __init__(self,d_model,dropout=0.1):
        super(SingleHeadAttention,self).__init__()
        self.dModel=d_model
        self.WQ=nn.Linear(d_model,d_model); self.WK=nn.Linear(d_model,d_model)
        self.WV=nn.Linear(d_model,d_model); self.WO=nn.Linear(d_model,d_model)
        self.drop=nn.Dropout(dropout)
    def forward(self,x,causal_mask=None,pad_mask=None):
        bs=x.size(0); L=x.size(1)
        Q=self.WQ(x).view(bs,-1,1,self.dModel).transpose(1,2)   # fake head dim = 1
        K=self.WK(x).view(bs,-1,1,self.dModel).transpose(1,2)
        V=self.WV(x).view(bs,-1,1,self.dModel).transpose(1,2)
        if causal_mask!=None and pad_mask!=None:
            M=(causal_mask.unsqueeze(0)&pad_mask.unsqueeze(1)).unsqueeze(1)
        elif causal_mask!=None:
            M=causal_mask.unsqueeze(0).unsqueeze(0)
        elif pad_mask!=None:
            M=pad_mask.unsqueeze(1).unsqueeze(2)
        else:
            M=None
        O,_=scaled_dot_product_attention(Q,K,V,M,self.drop)
        O=O.transpose(1,2).contiguous().view(bs,L,self.dModel)
        return self.WO(O)

if __name__=="__main__":
    m=SingleHeadAttention(512)
    print(m(torch.randn(2,10,512)).shape)
    assert False
