import torch, torch.nn as nn
from grader.given import *
from grader.given import MultiHeadSelfAttention
class EncoderLayer( nn.Module ) :
  def __init__( self , d_model , num_heads , d_ff , dropout = .1 ) :
    nn.Module.__init__( self )
    self.A = MultiHeadSelfAttention( d_model , num_heads ); self.L1 = nn.Linear( d_model , d_ff ); self.L2 = nn.Linear( d_ff , d_model )
    self.N1 = nn.LayerNorm( d_model ); self.N2 = nn.LayerNorm( d_model ); self.D = nn.Dropout( dropout )
  def forward( self , x , pad_mask = None ) :
    a = self.A( x , None , pad_mask ) if pad_mask is not None else self.A( x )
    # print(a.shape)
    y = self.N1( x + self.D( a ) ); h = self.L1( y ); h[ h < 0 ] = 0
    z = self.L2( h )
    return self.N2( torch.add( self.D( z ) , y ) )
if __name__ == "__main__":
    print( EncoderLayer( 8 , 2 , 16 )( torch.rand( 2 , 3 , 8 ) ).shape )
