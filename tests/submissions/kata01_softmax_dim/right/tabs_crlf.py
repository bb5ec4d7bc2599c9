import torch


def softmax(x,dim=-1):
	# 减去最大值，防止溢出
	mx=x.max(dim,keepdim=True)[0]
	fenzi=torch.exp(x-mx)
	fenmu=fenzi.sum(dim,keepdim=True)
	res=fenzi/fenmu
	return res
