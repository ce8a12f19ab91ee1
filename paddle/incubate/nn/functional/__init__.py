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
from ....ops.moe import moe_combine
from .float8 import (
    cross_entropy_with_softmax_bwd_w_downcast,
    embedding_grad_add_to_,
    fp8_quant_blockwise,
    fused_act_dequant,
    fused_swiglu_weighted_bwd,
    fused_weighted_swiglu_act_quant,
)
from .fused_transformer import fused_dot_product_attention, fused_feedforward, fused_multi_head_attention
from .inference import (
    blha_get_max_len,
    fused_multi_transformer,
    masked_multihead_attention,
    variable_length_memory_efficient_attention,
)
from .unbuilt import (
    block_multihead_attention,
    build_src_rank_and_local_expert_id,
    cal_aux_loss,
    expand_modality_expert_id,
    fp8_gemm_blockwise,
    fused_stack_transpose_quant,
    fused_transpose_split_quant,
    fused_transpose_wlch_split_quant,
    moe_gate_dispatch,
    moe_gate_dispatch_and_quant,
    moe_gate_dispatch_partial_nosoftmaxtopk,
    moe_gate_dispatch_permute,
)
