"""Features that are officially still under way."""

from . import asp, autograd, autotune, distributed, jit, multiprocessing, nn, optimizer
from ..ops.fused import identity_loss, softmax_mask_fuse, softmax_mask_fuse_upper_triangle
from ..ops.segment import segment_max, segment_mean, segment_min, segment_sum
from .jit import inference
from .graph import graph_khop_sampler, graph_reindex, graph_sample_neighbors, graph_send_recv
from .optimizer import LookAhead, ModelAverage
