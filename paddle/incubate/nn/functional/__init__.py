"""paddle.incubate.nn.functional: operators that officially are one kernel."""

from ....ops.activation import swiglu
from ....ops.fused import (
    batched_gemm,
    fast_ln,
    fast_rms_norm,
    fused_bias_act,
    fused_bias_dropout_residual_layer_norm,
    fused_dropout_add,
    fused_layer_norm,
    fused_linear,
    fused_linear_activation,
    fused_matmul_bias,
    fused_rms_norm,
    fused_rms_norm_ext,
    fused_rotary_position_embedding,
    int_bincount,
)
from .fused_transformer import fused_dot_product_attention, fused_feedforward, fused_multi_head_attention
from .inference import (
    blha_get_max_len,
    fused_multi_transformer,
    masked_multihead_attention,
    variable_length_memory_efficient_attention,
)
