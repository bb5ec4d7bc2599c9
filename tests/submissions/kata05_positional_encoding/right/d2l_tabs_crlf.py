import torch
import numbers
from torch import nn

class PositionalEncoding(nn.Module):
	def __init__(self,d_model,max_len=5000):
		nn.Module.__init__(self)
		# 位置编码
		self.P=torch.zeros((1,max_len,d_model))
		X=torch.arange(max_len,dtype=torch.float32).reshape(-1,1)/torch.pow(10000,torch.arange(0,d_model,2,dtype=torch.float32)/d_model)
		self.P[:,:,0::2]=torch.sin(X)
		self.P[:,:,1::2]=torch.cos(X[:,:d_model//2])
	def forward(self,X=None,x=None):
		X=x if X is None else X
		X=X+self.P[:,:X.shape[1],:].to(X.device).to(X.dtype)
		return X
