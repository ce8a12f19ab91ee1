"""Names of kernels that are not built: each raises NotImplementedError."""

from __future__ import annotations

from ....engine import errors


def _unbuilt(name: str, instead: str = "") -> NotImplementedError:
    return errors.NotImplemented_(f"{name}: this operator is not built{instead and '; ' + instead}")


def block_multihead_attention(
    qkv,
    key_cache,
    value_cache,
    seq_lens_encoder,
    seq_lens_decoder,
    seq_lens_this_time,
    padding_offsets,
    cum_offsets,
    cu_seqlens_q,
    cu_seqlens_k,
    block_tables,
    pre_key_cache=None,
    pre_value_cache=None,
    cache_k_quant_scales=None,
    cache_v_quant_scales=None,
    cache_k_dequant_scales=None,
    cache_v_dequant_scales=None,
    qkv_out_scale=None,
    qkv_bias=None,
    out_shift=None,
    out_smooth=None,
    max_enc_len_this_time=None,
    max_dec_len_this_time=None,
    rope_emb=None,
    mask=None,
    tgt_mask=None,
    max_seq_len=-1,
    block_size=64,
    use_neox_style=False,
    use_dynamic_cachekv_quant=False,
    quant_round_type=1,
    quant_max_bound=127.0,
    quant_min_bound=-127.0,
    out_scale=-1,
    compute_dtype="default",
    rope_theta=10000.0,
):
    """Not built: attention over a cache in pages. `fused_multi_transformer` has a contiguous one."""
    raise _unbuilt("block_multihead_attention", "fused_multi_transformer has a contiguous cache")


def build_src_rank_and_local_expert_id(expert_num_global_tensor, expert_num_global, num_local_experts, name=None):
    """Not built: ranks and local numbers of experts."""
    raise _unbuilt("build_src_rank_and_local_expert_id")


def cal_aux_loss(
    gate_prob, dispatch_mask, tokens_mask, dispatch_tokens_mask, num_experts, use_group, moe_k, clip_min, name=None
):
    """Not built: the loss that balances experts."""
    raise _unbuilt("cal_aux_loss")


def expand_modality_expert_id(
    expert_id, num_expert_per_modality, group_size, modality_offset, is_group_expert, name=None
):
    """Not built: numbers of experts by modality."""
    raise _unbuilt("expand_modality_expert_id")


def fp8_gemm_blockwise(
    a,
    a_decode_scale,
    b,
    b_decode_scale,
    out_dtype,
    out=None,
    bias=None,
    accumulate=False,
    use_split_accumulator=True,
    is_a_1d_scaled=True,
    is_b_1d_scaled=True,
):
    """Not built: products of float8 matrices in blocks. Dequantise and use `matmul`."""
    raise _unbuilt("fp8_gemm_blockwise", "dequantise and use matmul")


def fused_stack_transpose_quant(x, transpose=True):
    """Not built: stack, transpose and quantise. Use `paddle.stack` and `fp8_quant_blockwise`."""
    raise _unbuilt("fused_stack_transpose_quant", "use paddle.stack and fp8_quant_blockwise")


def fused_transpose_split_quant(x, input_scales, tokens_per_expert, pow_2_scales=False):
    """Not built: transpose, split and quantise. Use `paddle.split` and `fp8_quant_blockwise`."""
    raise _unbuilt("fused_transpose_split_quant", "use paddle.split and fp8_quant_blockwise")


def fused_transpose_wlch_split_quant(x, tokens_per_expert, pow_2_scales=False):
    """Not built: transpose, split and quantise. Use `paddle.split` and `fp8_quant_blockwise`."""
    raise _unbuilt("fused_transpose_wlch_split_quant", "use paddle.split and fp8_quant_blockwise")


def moe_gate_dispatch(x, gate_logits, corr_bias, k, capacity, use_pad, name=None):
    """Not built: choose experts and spread tokens. Use `topk` and `paddle.nn.functional.moe_permute`."""
    raise _unbuilt("moe_gate_dispatch", "use topk and moe_permute")


def moe_gate_dispatch_and_quant(x, gate_logits, corr_bias, k, capacity, use_pad, use_pow2_scale):
    """Not built: choose experts, spread tokens and quantise."""
    raise _unbuilt("moe_gate_dispatch_and_quant", "use topk, moe_permute and fp8_quant_blockwise")


def moe_gate_dispatch_partial_nosoftmaxtopk(
    x,
    combine_weights,
    expert_id,
    k,
    capacity,
    num_experts,
    use_pad,
    expert_start_index,
    expert_end_index,
    reverse_token_drop,
    name=None,
):
    """Not built: spread tokens over a part of the experts. Use `paddle.nn.functional.moe_permute`."""
    raise _unbuilt("moe_gate_dispatch_partial_nosoftmaxtopk", "use moe_permute")


def moe_gate_dispatch_permute(x, gate_logits, corr_bias, k, capacity, world_size, name=None):
    """Not built: choose experts and spread tokens over devices."""
    raise _unbuilt("moe_gate_dispatch_permute", "use topk and moe_permute")
