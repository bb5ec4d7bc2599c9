import torch
import torch.nn as nn
# cross attention -- q from decoder , k v from encoder

class MultiHeadCrossAttention(nn.Module):
    def __init__(self,d_model,num_heads):
        super(MultiHeadCrossAttention,self).__init__()
        self.D=d_model; self.H=num_heads; self.d=d_model//num_heads
        assert self.d*self.H==self.D
        self.wq=nn.Linear(d_model,d_model)
        self.wk=nn.Linear(d_model,d_model)
        self.wv=nn.Linear(d_model,d_model)
        self.wo=nn.Linear(d_model,d_model)
    def forward(self,x,memory,pad_mask=None):
        B,L,D=x.shape
        S=memory.size(1)
        Q=self.wq(x).reshape(B,L,self.H,self.d).permute(0,2,1,3)
        K=self.wk(memory).reshape(B,S,self.H,self.d).permute(0,2,1,3)
        V=self.wv(memory).reshape(B,S,self.H,self.d).permute(0,2,1,3)
        tmp=torch.matmul(Q,K.permute(0,1,3,2))
        tmp=tmp*(self.d**(-0.5))
        if pad_mask is None:
            pass
        else:
            m=torch.zeros(B,1,1,S,dtype=x.dtype,device=x.device)
            m[~pad_mask[:,None,None,:]]=float('-inf')
            tmp=tmp+m
        tmp=torch.softmax(tmp,dim=3)
        res=torch.matmul(tmp,V)            # (B,H,L,d)
        res=res.permute(0,2,1,3)
        res=res.contiguous().view(B,L,D)
        return self.wo(res)

if __name__=='__main__':
    print(MultiHeadCrossAttention(8,2)(torch.rand(1,2,8),torch.rand(1,3,8)))
    raise SystemExit
