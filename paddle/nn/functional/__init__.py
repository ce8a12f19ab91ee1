"""paddle.nn.functional: the operators of neural networks as functions."""

from ...ops.activation import *
from ...ops.attention import *
from ...ops.attention import sdp_kernel
from ...ops.conv import *
from ...ops.creation import one_hot
from ...ops.diagonals import diag_embed
from ...ops.dropout import *
from ...ops.elementwise import sigmoid, tanh, tanh_
from ...ops.distance import *
from ...ops.embedding import *
from ...ops.large_class_loss import *
from ...ops.loss import *
from ...ops.masked_attention import *
from ...ops.moe import *
from ...ops.norm import pdist
from ...ops.normalization import *
from ...ops.expansion import pad
from ...ops.pooling import *
from ...ops.regression_loss import *
from ...ops.sequence import *
from ...ops.sequence_loss import *
from ...ops.vision import *
from . import flash_attention
