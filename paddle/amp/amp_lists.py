"""Which operators compute in 16 bits (white), which in float32 (black); all others follow their inputs.

The lists hold official operator names. `names` tells under which of them one of our operators is found.
"""

from __future__ import annotations

__all__ = ["black_list", "white_list"]

WHITE_LIST = set(
    """conv2d einsum flash_attn fused_gemm_epilogue fused_rotary_position_embedding linear_v2 matmul
    matmul_v2 max_pool2d_with_index mul""".split()
)
ONLY_FP16_WHITE_LIST = set(
    """fake_quantize_dequantize_abs_max fake_quantize_dequantize_moving_average_abs_max
    fused_attention fused_feedforward""".split()
)
FP16_WHITE_LIST = WHITE_LIST | ONLY_FP16_WHITE_LIST
BF16_WHITE_LIST = WHITE_LIST

# Dangerous in few bits: wide ranges, long sums, small differences.
FP16_BLACK_LIST = set(
    """acos asin atanh c_softmax_with_cross_entropy c_softmax_with_multi_label_cross_entropy cosh
    cross_entropy cross_entropy2 cumprod cumsum dist erfinv exp expm1 frobenius_norm group_norm hsigmoid_loss huber_loss
    layer_norm log log10 log2 log_loss log_softmax margin_cross_entropy mean nll_loss pnorm pow reciprocal reduce_mean
    reduce_prod reduce_sum renorm rsqrt sigmoid_cross_entropy_with_logits sinh softmax softmax_with_cross_entropy
    softmin softplus square tan tanh_shrink triplet_margin_loss""".split()
)
BF16_BLACK_LIST = FP16_BLACK_LIST

# Slower in 16 bits than in 32.
EXTRA_BLACK_LIST = set(
    """bicubic_interp_v2 bilinear_interp_v2 linear_interp_v2 lookup_table lookup_table_v2
    nearest_interp_v2 scatter trilinear_interp_v2""".split()
)


def white_list() -> dict[str, dict[str, set[str]]]:
    """The operators that compute in 16 bits, by dtype and level.

    Example:
        >>> "matmul_v2" in paddle.amp.white_list()["float16"]["O1"]
        True
    """
    lists = {"float16": FP16_WHITE_LIST, "bfloat16": BF16_WHITE_LIST}
    return {dtype: {level: set(names) for level in ("OD", "O1", "O2")} for dtype, names in lists.items()}


def black_list() -> dict[str, dict[str, set[str]]]:
    """The operators that compute in float32, by dtype and level."""
    lists = {"float16": FP16_BLACK_LIST, "bfloat16": BF16_BLACK_LIST}
    return {
        dtype: {"OD": set(), "O1": names | EXTRA_BLACK_LIST, "O2": set(EXTRA_BLACK_LIST)}
        for dtype, names in lists.items()
    }


# The official names of operators that have another one here. An operator that is officially composed of several is
# found under the one that decides.
_OFFICIAL = {
    "matmul": "matmul_v2",
    "linear": "linear_v2",
    "inner": "matmul_v2",
    "tensordot": "matmul_v2",
    "conv1d": "conv2d",
    "attention": "flash_attn",
    "attention_dropout": "flash_attn",
    "max_pool_with_index": "max_pool2d_with_index",
    "sum": "reduce_sum",
    "nansum": "reduce_sum",
    "mean": "reduce_mean",
    "nanmean": "reduce_mean",
    "prod": "reduce_prod",
    "integer_pow": "pow",
    "tanhshrink": "tanh_shrink",
    "p_norm": "pnorm",
    "matrix_norm": "frobenius_norm",
    "pairwise_distance": "pnorm",
    "cosine_similarity": "reduce_sum",
    "embedding": "lookup_table_v2",
    "cross_entropy": "softmax_with_cross_entropy",
    "binary_cross_entropy_with_logits": "sigmoid_cross_entropy_with_logits",
    "triplet_margin": "triplet_margin_loss",
    "smooth_l1_loss": "huber_loss",
    "scale_to_norm": "renorm",
    "interpolate": "nearest_interp_v2 bilinear_interp_v2 bicubic_interp_v2 linear_interp_v2 trilinear_interp_v2",
    "add": "elementwise_add",
    "subtract": "elementwise_sub",
    "multiply": "elementwise_mul",
    "divide": "elementwise_div",
    "maximum": "elementwise_max",
    "minimum": "elementwise_min",
    "remainder": "elementwise_mod",
    "floor_divide": "elementwise_floordiv",
    "max": "reduce_max",
    "min": "reduce_min",
    "reshape": "reshape2",
    "transpose": "transpose2",
    "squeeze": "squeeze2",
    "unsqueeze": "unsqueeze2",
    "expand": "expand_v2",
    "flatten": "flatten_contiguous_range",
    "topk": "top_k_v2",
    "slice_get": "slice strided_slice",
    "silu": "silu swish",
}
# Losses whose last operator is a mean.
_OFFICIAL.update(
    dict.fromkeys(
        """reduce_loss mse_loss l1_loss kl_div bce_loss poisson_nll_loss gaussian_nll_loss
    soft_margin_loss multi_label_soft_margin_loss multi_label_margin_loss multi_margin_loss dice_loss npair_loss
    hinge_embedding_loss cosine_embedding_loss margin_ranking_loss sigmoid_focal_loss""".split(),
        "reduce_mean",
    )
)

# Officially 16-bit inputs of these stay beside float32 weights; only `x` is cast.
ONLY_X = {"batch_norm", "layer_norm", "sync_batch_norm"}


def names(operator: str) -> set[str]:
    """The names under which an operator may stand in a list: its own and the official ones."""
    return {operator, *_OFFICIAL.get(operator, "").split()}
