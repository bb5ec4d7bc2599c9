# warm up !!! -- 注意力
from torch import ones, softmax, zeros
from math import sqrt as wurzel
def attention( q,k,v , verbose = False ):
    L,D=q.size(); assert k.size()==(L,D)
    S=zeros(L,L).to(q)            # scores
    for i in range(L):
      for j in range(L):
        S[i,j]=sum(q[i]*k[j])/wurzel(D)
    W=softmax(S,1)
    if verbose: print(S,W)
    return W.mm(v)
if __name__=="__main__":
    print(attention(ones(3,4),ones(3,4),ones(3,4)))
    raise SystemExit("done")
