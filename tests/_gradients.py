"""One sample for every differentiable operator: the arguments of its public form, on which `test_gradients.py` compares
its gradients of first and second order with differences. Float64 arrays are differentiated, everything else is as given;
where an operator is called from inside another function, `via` is that function and takes the arrays.

A new operator needs a row here, or its name in NOT_DIFFERENTIABLE with the reason.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import paddle
import paddle.nn.functional as F
from paddle import sparse
from paddle.engine.op import registry
from paddle.geometric import segment_max, segment_sum
from paddle.incubate.nn import functional as FF


def wave(*shape: int, shift: float = 0.0, scale: float = 1.3) -> np.ndarray:
    """Distinct numbers without zeros in about (-scale, scale)."""
    k = np.arange(int(np.prod(shape)))
    return (scale * np.cos(k * 1.7 + 0.4 + shift)).reshape(shape)


def unit(*shape: int, shift: float = 0.0) -> np.ndarray:
    """Distinct numbers in (0.1, 0.9)."""
    return 0.5 + 0.4 * wave(*shape, shift=shift, scale=1.0)


class fixed:
    """An argument that is a tensor but is not differentiated."""

    def __init__(self, values: Any, dtype: str = "int64"):
        self.values = np.asarray(values, dtype)

    def tensor(self) -> Any:
        return paddle.to_tensor(self.values)


class sample:
    """A row that needs more than arguments: `via` a function, only first `order`, other tolerances."""

    def __init__(self, *args: Any, via: Any = None, order: int = 2, rtol: float = 2e-4, atol: float = 2e-5):
        self.args, self.via, self.order, self.rtol, self.atol = args, via, order, rtol, atol


def csr(values: Any) -> Any:
    """A sparse 3 x 3 matrix with three values, one of them alone in its row."""
    return sparse.sparse_csr_tensor([0, 2, 2, 3], [0, 2, 1], values, [3, 3], stop_gradient=False)


def written(x: Any, index: Any, value: Any) -> Any:
    """x[index] = value on a copy."""
    x = x * 1
    x[index] = value
    return x


def with_part(part: str) -> Any:
    def call(re: Any, im: Any, value: Any) -> Any:
        z = paddle.complex(re, im) * 1
        getattr(z, part)()[1] = value  # parts are views
        return z

    return call


def tensor(values: Any) -> Any:
    return paddle.to_tensor(values, dtype="int32")


def normal(loc: Any, tril: Any) -> Any:
    return paddle.distribution.MultivariateNormal(loc, scale_tril=paddle.tril(tril))


def network(kind: str) -> Any:
    paddle.seed(3)
    return getattr(paddle.nn, kind)(2, 2).astype("float64")


def batch_norm(x: Any, weight: Any, bias: Any) -> Any:
    mean, variance = paddle.zeros([3], "float64"), paddle.ones([3], "float64")
    return F.batch_norm(x, mean, variance, weight, bias, training=True)


def packed(dropout: float) -> Any:
    ends = paddle.to_tensor([0, 1, 3], dtype="int32")
    return lambda q, k, v: F.flash_attention.flash_attn_unpadded(q, k, v, ends, ends, 2, 2, 0.7, dropout)[0]


def flashmask(dropout: float) -> Any:
    rows = paddle.to_tensor([[[[3], [3], [2]]]], dtype="int32")
    return lambda q, k, v: F.flashmask_attention(q, k, v, rows, dropout=dropout, causal=True)


def from_parts(function: Any) -> Any:
    """A function of complex tensors as one of real and imaginary parts."""
    return lambda re, im: function(paddle.complex(re, im))


A, B, C, D = wave(2, 3), wave(2, 3, shift=0.7), wave(3, shift=2.0), wave(2, 1, shift=1.1)
P, Q, R = unit(2, 3), unit(2, 3, shift=0.9), unit(3)
V, W = wave(4), wave(4, shift=0.5)
M, N = wave(3, 3), wave(3, 3, shift=1.3)
SPD = M @ M.T + 2 * np.eye(3)
REGULAR = M + 3 * np.eye(3)
MASK = fixed([[True, False, True], [False, True, True]], "bool")
WEIGHTS = np.array([0.2, 0.5, 0.3])
NUMBERS = np.array([1.0, 3.0])
IMAGE, VOLUME = wave(1, 2, 4, 4), wave(1, 1, 3, 3, 3)
HEADS = [wave(1, 3, 1, 2, shift=s) for s in (0.0, 0.6, 1.2)]
LABEL, BOX = fixed([0, 2]), fixed([[0.3, 0.4, 3.1, 2.9]], "float64")
ROUTES, ROWS = fixed([[0, 1], [2, -1], [1, 0]], "int32"), fixed([[0, 2, -1], [-1, -1, 4], [1, 3, -1]], "int32")

ELEMENTWISE: dict[str, Any] = {
    **{
        n: (A,)
        for n in """exp expm1 sigmoid square abs neg sign sgn sin cos tan atan deg2rad rad2deg sinh cosh tanh stanh asinh ceil
        floor trunc round frac nan_to_num relu relu6 leaky_relu thresholded_relu hardtanh hardsigmoid hardswish hardshrink gelu
        silu swish mish softplus softsign tanhshrink log_sigmoid logsigmoid elu softmax log_softmax assign erf i0 i0e
        i1 i1e sinc""".split()
    },
    **{
        n: (P,)
        for n in "log log2 log10 log1p sqrt rsqrt reciprocal asin acos atanh logit erfinv digamma lgamma gammaln".split()
    },
    "acosh": (P + 1.2,),
    "angle": sample(A, B, via=from_parts(paddle.angle)),
    "frexp": sample(A, via=lambda x: paddle.frexp(x)[0]),
    "cast": sample(A, via=lambda x: x.astype("complex128").real()),
    "conj": sample(A, B, via=from_parts(paddle.conj)),
    "real": sample(A, B, via=from_parts(lambda z: paddle.real(z * z))),
    "imag": sample(A, B, via=from_parts(lambda z: paddle.imag(z * z))),
    "complex": (A, B),
    "polar": (P, B),
    "as_complex": (wave(3, 2),),
    "as_real": sample(A, B, via=from_parts(lambda z: paddle.as_real(z * z))),
    "softshrink": (A, 0.5),
    "celu": (A, 1.2),
    "selu": (A, 1.05, 1.67),
    "prelu": (wave(2, 2, 2), R[:2]),
    "glu": (wave(2, 4),),
    "swiglu": (A, B),
    "maxout": (wave(1, 4, 1, 2), 2, 1),
    "polygamma": (P, 1),
    "multigammaln": (P + 1, 2),
    "gammainc": sample(P, via=lambda y: paddle.gammainc(paddle.full([2, 3], 1.5, "float64"), y)),
    "gammaincc": sample(P, via=lambda y: paddle.gammaincc(paddle.full([2, 3], 1.5, "float64"), y)),
    "label_smooth": (P,),
    "scale": (A, 2.0, 1.0, True),
    "clip": (A, -0.7, 0.7),
    "integer_pow": (A, 3),
    "lerp": (A, B, P),
    "pow": (P, B),
    "remainder": (A, P),
    "where": (MASK, A, B),
    "masked_fill": (A, MASK, np.array(0.4)),
    "masked_scatter": (A, MASK, wave(5)),
    "multiplex": ([A, B], fixed([[1], [0]], "int32")),
    "transfer": (A, paddle.CPUPlace().device()),
    **{
        n: (A, C)
        for n in "add subtract multiply divide maximum minimum fmax fmin hypot atan2 logaddexp copysign heaviside ldexp".split()
    },
}

SHAPES: dict[str, Any] = {
    "reshape": (A, [3, 2]),
    "flatten": (wave(2, 2, 2), 1, 2),
    "transpose": (A, [1, 0]),
    "squeeze": (D, [1]),
    "unsqueeze": (A, [1]),
    "flip": (A, [0, 1]),
    "roll": (A, [1], [1]),
    "rot90": (A, 1, [0, 1]),
    "expand": (D, [2, 3]),
    "tile": (A, [2, 1]),
    "repeat_interleave": sample(A, via=lambda x: paddle.repeat_interleave(x, 2, 1)),
    "pad": sample(A, via=lambda x: F.pad(x, [1, 0, 0, 2], value=0.5)),
    "concat": ([A, B], 1),
    "stack": ([A, B], 1),
    "split": (A, (1, 2), 1),
    "add_n": ([A, B],),
    "block_diag": ([A, C],),
    "meshgrid": ([C, V], "ij"),
    "vander": (C, 3, False),
    "diag": (C, 1, 0.0),
    "diag_embed": (A,),
    "diagonal_write": (M, C, 0, 0, 1),
    "diagonal": (M, 0, 0, 1),
    "tril": (M,),
    "triu": (M, 1),
    "fill_diagonal": sample(M, via=lambda x: (x * 1).fill_diagonal_(0.3)),
    "as_strided": (V, [2, 2], [1, 1], 0),
    "as_strided_write": (V, wave(2, 2), [2, 2], [2, 1], 0),
    "tensor_unfold": (V, 0, 2, 1),
    "tensor_unfold_write": (V, wave(2, 2), 0, 2, 2),
    "select": (A, 1, 1),
    "select_write": (A, C, 1, 0),
    "unbind": (A, 1),
    "slice_get": sample(A, via=lambda x: x[:, ::-2]),
    "slice_set": sample(A, D, via=lambda x, v: written(x, (slice(None), slice(1, 3)), v)),
    "gather_nd_axes": sample(A, via=lambda x: x[paddle.to_tensor([0, 1, 0]), paddle.to_tensor([2, 0, 2])]),
    "scatter_nd_axes": sample(
        A, R[:2], via=lambda x, v: written(x, (paddle.to_tensor([0, 1]), paddle.to_tensor([2, 0])), v)
    ),
    "mask_set": sample(A, np.array(0.7), via=lambda x, v: written(x, paddle.to_tensor(MASK.values), v)),
    "_with_real": sample(A, B, C, via=with_part("real")),
    "_with_imag": sample(A, B, C, via=with_part("imag")),
    "gather": (A, fixed([1, 0, 1]), 0),
    "gather_nd": (A, fixed([[1, 2], [0, 0], [1, 2]])),
    "take": (A, fixed([1, 5, 1]), "raise"),
    "take_along_axis": (A, fixed([[0, 0, 2], [1, 1, 1]]), 1),
    "put_along_axis": (A, fixed([[0, 2], [1, 1]]), wave(2, 2), 1, "add", True),
    "put_along_axis_extreme": (A, fixed([[0, 2], [1, 0]]), wave(2, 2, shift=2), 1, True, True),
    "scatter": (A, fixed([1]), wave(1, 3, shift=2), True),
    "scatter_nd_add": (A, fixed([[1, 1], [0, 0], [1, 1]]), C),
    "index_add": (A, fixed([1, 1]), 0, B, 1.5),
    "index_fill": sample(A, via=lambda x: paddle.index_fill(x, paddle.to_tensor([1]), 1, 0.5)),
    "index_put": (A, [fixed([0, 0]), fixed([1, 1])], wave(2), True),
    "segment_reduce": sample(
        A, via=lambda x: segment_sum(x, paddle.to_tensor([0, 0])) + segment_max(x, paddle.to_tensor([0, 0]))
    ),
}

REDUCTIONS: dict[str, Any] = {
    **{n: (A, 1) for n in "sum nansum nanmean logsumexp max min amax amin".split()},
    "mean": (A, 1, True, None),
    "prod": (A, [1], False, None),
    "reduce_as": (A, C),
    "var": (A, 1, 1, False),
    "std": (A, 1, 1, False),
    "cumsum": (A, 1),
    "cumprod": (A, 1),
    "logcumsumexp": (A, 1),
    "cummax": (A, 1),
    "cummin": (A, 1),
    "diff": (A,),
    "trapezoid": (A, np.array([0.0, 0.4, 1.5])),
    "cumulative_trapezoid": (A, np.array([0.0, 0.4, 1.5])),
    "sort": (A,),
    "topk": (A, 2, 1, True),
    "kthvalue": (A, 2),
    "mode": (A,),
    "median": sample(wave(2, 4), via=lambda x: paddle.median(x, 1)),
    "median_min": sample(wave(2, 4), via=lambda x: paddle.median(x, 1, mode="min")[0]),
    "quantile": sample(wave(2, 4), via=lambda x: paddle.quantile(x, [0.3, 0.8], 1)),
    "p_norm": (A, 3.0, [1], False),
    "matrix_norm": sample(REGULAR, via=lambda x: paddle.linalg.matrix_norm(x, "nuc"), order=1),
    "dist": (A, B, 3.0),
    "cdist": (A, wave(2, 3, shift=2), 2.0),
    "pdist": (M, 2.0),
    "renorm": (A, 2.0, 0, 0.9),
}

PRODUCTS: dict[str, Any] = {
    "matmul": (A, M),
    "bmm": (wave(2, 1, 2), wave(2, 2, 2)),
    "dot": (V, W),
    "mv": (A, C),
    "addmm": (A, A, M, 0.5, 2.0),
    "baddbmm": (wave(1, 1, 2), wave(1, 1, 2, shift=1), wave(1, 2, 2), 0.5, 2.0),
    "multi_dot": ([A, M, C],),
    "inner": (A, B),
    "outer": (C, V),
    "cross": (A, B),
    "kron": (A, D),
    "vecdot": (A, B),
    "tensordot": (A, M, 1),
    "einsum": ([A, M], "ij,jk->ik"),
    "trace": (M,),
    "cov": sample(A, via=paddle.linalg.cov),
    "corrcoef": (A,),
    "linear": (A, M, C),
    "bilinear": (wave(2, 2), wave(2, 2, shift=1), wave(1, 2, 2), wave(1, 1)),
    "pairwise_distance": (A, B),
    "cosine_similarity": (A, B),
    "batched_gemm": (wave(3, 2), wave(2, 2, 2), [1, 2]),
}

MATRICES: dict[str, Any] = {
    "cholesky": sample(SPD, via=lambda x: paddle.linalg.cholesky((x + x.T) / 2)),
    "lu": sample(REGULAR, via=lambda x: paddle.linalg.lu(x)[0]),
    "lu_unpack": sample(REGULAR, via=lambda x: paddle.linalg.lu_unpack(*paddle.linalg.lu(x))[1:]),
    "qr": (REGULAR,),
    "householder_product": (wave(3, 2), R[:2]),
    "ormqr": (wave(3, 2), R[:2], wave(2, 2)),
    "svd": sample(wave(2, 3), via=lambda x: paddle.linalg.svd(x)[1]),
    "svdvals": (A,),
    "eigh": sample(SPD, via=lambda x: (lambda w, v: (w, v * v))(*paddle.linalg.eigh((x + x.T) / 2))),
    "eigvalsh": sample(SPD, via=lambda x: paddle.linalg.eigvalsh((x + x.T) / 2)),
    "eig": sample(REGULAR + np.diag([0.0, 2, 4]), via=lambda x: paddle.real(paddle.linalg.eig(x)[0]), order=1),
    "eigvals": sample(REGULAR + np.diag([0.0, 2, 4]), via=lambda x: paddle.real(paddle.linalg.eigvals(x)), order=1),
    "solve": (REGULAR, wave(3, 2), True),
    "inverse": (REGULAR,),
    "triangular_solve": (REGULAR, wave(3, 2)),
    "cholesky_solve": (wave(3, 2), REGULAR),
    "cholesky_inverse": (REGULAR,),
    "lu_solve": sample(wave(3, 1), REGULAR, via=lambda b, x: paddle.linalg.lu_solve(b, *paddle.linalg.lu(x))),
    "det": (REGULAR,),
    "slogdet": (REGULAR,),
    "matrix_power": (REGULAR, 3),
    "matrix_exp": (M,),
    "pinv": sample(wave(3, 2), via=paddle.linalg.pinv),
    "cond": sample(REGULAR, via=paddle.linalg.cond),
    "lstsq": sample(wave(3, 2), wave(3, 1), via=lambda x, y: paddle.linalg.lstsq(x, y)[0]),
    "adjoint": sample(A, B, via=from_parts(lambda z: registry["adjoint"].public(z * z))),
}

SIGNALS: dict[str, Any] = {
    "fourier": sample(A, B, via=from_parts(paddle.fft.fft)),
    "frame": sample(V, via=lambda x: paddle.signal.frame(x, 2, 1)),
    "overlap_add": sample(wave(2, 3), via=lambda x: paddle.signal.overlap_add(x, 1)),
    "stft": sample(
        wave(6), via=lambda x: paddle.as_real(paddle.signal.stft(x, 4, window=paddle.ones([4], "float64"))[:2])
    ),
    "istft": sample(wave(3, 4), wave(3, 4, shift=1), via=from_parts(lambda z: paddle.signal.istft(z, 4))),
    "pixel_shuffle": (wave(1, 4, 1, 2), 2),
    "pixel_unshuffle": (wave(1, 1, 2, 4), 2),
    "channel_shuffle": (wave(1, 4, 1, 2), 2),
    "temporal_shift": (wave(4, 4, 1, 1), 2),
    "unfold": (IMAGE[:, :1], [2, 2]),
    "fold": (wave(1, 4, 4), [3, 3], [2, 2]),
    "interpolate": sample(IMAGE[:, :1, :3, :3], via=lambda x: F.interpolate(x, size=[4, 5], mode="bicubic")),
    "affine_grid": (wave(1, 2, 3), [1, 1, 2, 2], True),
    "grid_sample": (IMAGE[:, :1], wave(1, 2, 2, 2, scale=0.83)),
}

LAYERS: dict[str, Any] = {
    "conv1d": (wave(1, 2, 4), wave(1, 2, 2), R[:1]),
    "conv2d": (IMAGE[:, :, :3, :3], wave(1, 2, 2, 2), R[:1]),
    "conv3d": (VOLUME, wave(1, 1, 2, 2, 2), R[:1]),
    "conv1d_transpose": (wave(1, 1, 3), wave(1, 2, 2), R[:2]),
    "conv2d_transpose": (IMAGE[:, :1, :2, :2], wave(1, 1, 2, 2), R[:1]),
    "conv3d_transpose": (VOLUME[:, :, :2, :2, :2], wave(1, 1, 2, 1, 1), R[:1]),
    "embedding": sample(A, via=lambda w: F.embedding(paddle.to_tensor([1, 0, 1]), w)),
    "softmax_mask_fuse": (wave(1, 1, 2, 2), wave(1, 1, 2, 2, shift=1)),
    "softmax_mask_fuse_upper_triangle": (wave(1, 1, 2, 2),),
    "fused_bias_act": (A, C),
    "fused_rms_norm": sample(A, C, via=lambda x, w: FF.fused_rms_norm(x, w, None, 1e-5, 1)[0]),
    "fused_layer_norm": sample(A, C, R, via=lambda x, w, b: FF.fused_layer_norm(x, w, b, 1e-5, begin_norm_axis=1)[0]),
    "fused_rotary_position_embedding": sample(
        wave(1, 2, 1, 4), via=lambda q: FF.fused_rotary_position_embedding(q)[0], rtol=1e-3, atol=1e-4
    ),
    "batch_norm": sample(A, C, R, via=batch_norm),
    "layer_norm": (A, [3], C, R),
    "rms_norm": (A, [3], C),
    "group_norm": (wave(1, 4, 2), 2, 1e-5, V, W),
    "instance_norm": sample(wave(2, 2, 3), R[:2], V[:2], via=lambda x, w, b: F.instance_norm(x, weight=w, bias=b)),
    "local_response_norm": (IMAGE[:, :, :2, :2], 2, 0.5),
    "normalize": sample(A, via=F.normalize),
    "max_pool": sample(IMAGE[:, :1], via=lambda x: F.max_pool2d(x, 2)),
    "max_pool_with_index": sample(IMAGE[:, :1], via=lambda x: F.max_pool2d(x, 2, return_mask=True)[0]),
    "avg_pool": sample(IMAGE[:, :1], via=lambda x: F.avg_pool2d(x, 2)),
    "lp_pool": sample(unit(1, 1, 4, 4), via=lambda x: F.lp_pool2d(x, 3.0, 2)),
    "adaptive_avg_pool": sample(IMAGE[:, :1], via=lambda x: F.adaptive_avg_pool2d(x, 3)),
    "adaptive_max_pool": sample(IMAGE[:, :1], via=lambda x: F.adaptive_max_pool2d(x, 3)),
    "fractional_max_pool": sample(IMAGE[:, :1], via=lambda x: F.fractional_max_pool2d(x, 2, random_u=0.3)),
    "max_unpool": sample(
        wave(1, 1, 2, 2), via=lambda x: F.max_unpool2d(x, paddle.to_tensor([[[[0, 3], [8, 15]]]], dtype="int32"), 2)
    ),
    "attention": sample(*HEADS, via=lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True)),
    "attention_and_weights": (*HEADS, True, 0.7),
    "attention_dropout_and_weights": (*HEADS, True, 0.7, 0.3),
    "roi_align": (IMAGE, BOX, fixed([1], "int32"), (2, 2), 1.0, 2, True),
    "roi_pool": (IMAGE, BOX, fixed([1], "int32"), (2, 2), 1.0),
    "psroi_pool": (wave(1, 4, 4, 4), BOX, fixed([1], "int32"), (2, 2), 1.0),
    "attention_heads_first": (*(h.reshape(1, 1, 3, 2) for h in HEADS), None, 0.7),
    "attention_dropout": sample(*HEADS, via=lambda q, k, v: F.scaled_dot_product_attention(q, k, v, dropout_p=0.3)),
    "packed_attention": sample(*(h[0] for h in HEADS), via=packed(0.0)),
    "packed_attention_dropout": sample(*(h[0] for h in HEADS), via=packed(0.3)),
    "flashmask_attention": sample(*HEADS, via=flashmask(0.0)),
    "flashmask_attention_dropout": sample(*HEADS, via=flashmask(0.3)),
    "sparse_attention": sample(
        *(h.reshape(1, 1, 3, 2) for h in HEADS),
        via=lambda q, k, v: F.sparse_attention(
            q, k, v, *(paddle.to_tensor([[n]], dtype="int32") for n in ([0, 2, 3, 5], [0, 1, 1, 0, 2]))
        ),
    ),
    "variable_length_attention": (
        *(h.reshape(1, 1, 3, 2) for h in HEADS),
        fixed([[3]]),
        fixed([[2]]),
        None,
        0.7,
        False,
        0,
    ),
    "rnn": sample(wave(1, 3, 2), via=lambda x: network("LSTM")(x)[0]),
    "rnn_cell": sample(wave(2, 2), via=lambda x: network("GRUCell")(x)[0]),
    "dropout": sample(A, via=lambda x: F.dropout(x, 0.4)),
    "dropout_scale": sample(A, via=lambda x: F.dropout(x, 0.4, training=False, mode="downscale_in_infer")),
    "alpha_dropout": sample(A, via=lambda x: F.alpha_dropout(x, 0.4)),
    "rrelu": (A, 0.1, 0.3),
    "gumbel_softmax": sample(A, via=F.gumbel_softmax),
    "norm_except": (A, 0),
    "scale_to_norm": (A, R[:2], 0),
    "spectral_step": sample(
        A,
        via=lambda x: registry["spectral_step"].public(
            x, *(fixed(unit(n), "float64").tensor() for n in (2, 3)), 0, 40, 1e-12
        )[0],
        order=1,
    ),
    "apply_per_channel_scale": (A, C),
    "row_conv": (wave(1, 3, 2), wave(2, 2, shift=1)),
    "nce": (A, fixed([[0], [2]]), wave(4, 3), wave(4), None, None, 4, 2),
    "join_flat": ([A, C],),
    "moe_permute": sample(
        wave(3, 2), unit(3, 2), via=lambda x, w: F.moe_permute(x, None, ROUTES.tensor(), w, 3, [2, 2, 1], 2)[::2]
    ),
    "moe_unpermute": sample(
        wave(6, 2),
        unit(6),
        via=lambda x, w: F.moe_unpermute(x, ROWS.tensor(), ROUTES.tensor(), w, 3, 3, using_weighted_combine=True),
    ),
    "moe_combine": sample(
        wave(4, 2), unit(2, 2), via=lambda x, w: FF.moe_combine(x, w, paddle.to_tensor([[0, 3], [1, 1]]))
    ),
    "sparse_softmax": sample(C, via=lambda v: sparse.nn.functional.softmax(csr(v)).values()),
    "sparse_conv": (wave(2, 2), fixed([[0, 1], [1, 2]]), wave(2, 2, 1), R[:1]),
    "sparse_max_pool": (wave(3, 2), fixed([[0, 1], [1, 2], [2, 3]])),
    "sparse_matmul": sample(C, wave(3, 2), via=lambda v, y: sparse.matmul(csr(v), y)),
    "sparse_masked_matmul": (A, M, fixed([0, 1, 1]), fixed([2, 0, 2])),
    "sparse_to_dense": (C, fixed([[0, 1, 1], [2, 0, 0]]), [2, 3]),
    "sparse_from_dense": (A, fixed([[0, 1], [2, 0]])),
    "sparse_take": (C, fixed([2, 0])),
    "sparse_fill": (C, fixed([3, 0, 2]), 4),
    "_standardize": (wave(3, 1, 2), fixed(unit(3, 1, 1), "float64"), fixed(unit(3, 1, 1), "float64")),
    "_blend": (unit(3, 1, 2), 0.9, "Saturation"),
    "_turn_hue": (unit(3, 1, 2), 0.1),
    "_warp": sample(IMAGE[0], via=lambda x: paddle.vision.transforms.rotate(x, 30.0, interpolation="bilinear")),
}

BOXES, BOXES_NUM = fixed([[0.3, 0.2, 3.6, 3.1], [-1.0, 1.2, 1.9, 5.0]], "float64"), fixed([2], "int32")
DETECTION: dict[str, Any] = {
    "roi_align": (IMAGE, BOXES, BOXES_NUM, (2, 1), 0.9, 0, True, (3, 4)),
    "roi_pool": (IMAGE, BOXES, BOXES_NUM, (2, 2), 0.9, (4, 4)),
    "psroi_pool": (wave(1, 2, 4, 4), BOXES, BOXES_NUM, (2, 1), 0.9),
    "deform_conv2d": sample(
        wave(1, 2, 3, 3),
        wave(1, 8, 2, 2, scale=0.83),
        wave(2, 2, 2, 2),
        unit(1, 4, 2, 2),
        via=lambda x, o, w, m: paddle.vision.ops.deform_conv2d(x, o, w, mask=m),
    ),
    "yolo_loss": sample(
        wave(1, 14, 2, 2),
        via=lambda x: paddle.vision.ops.yolo_loss(
            x,
            paddle.to_tensor([[[0.3, 0.4, 0.2, 0.3], [0.7, 0.2, 0.5, 0.3], [0.3, 0.4, 0.2, 0.2]]], "float64"),
            *(paddle.to_tensor([[0, 1, 1]], "int32"), [8, 10, 20, 15], [0, 1], 2, 0.5, 16),
        ),
    ),
}

ONE_HOT = fixed([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]], "float64")
SIGNS = fixed([[1, -1, 1], [-1, 1, 1]], "float64")
LOSSES: dict[str, Any] = {
    "cross_entropy": sample(
        A, C, via=lambda x, w: F.cross_entropy(x, LABEL.tensor(), weight=w * w, label_smoothing=0.1)
    ),
    "nll_loss": sample(A, R, via=lambda x, w: F.nll_loss(x, LABEL.tensor(), weight=w)),
    "bce_loss": (P, Q),
    "reduce_loss": (A, P, "mean"),
    "binary_cross_entropy_with_logits": (A, Q, P, "mean", R),
    "sigmoid_focal_loss": (A, ONE_HOT),
    "log_loss": (P, Q),
    "dice_loss": (P, fixed([[1], [2]])),
    "multi_margin_loss": sample(A, via=lambda x: F.multi_margin_loss(x, LABEL.tensor(), 2)),
    "multi_label_margin_loss": sample(
        A, via=lambda x: F.multi_label_margin_loss(x, paddle.to_tensor([[0, 1, -1], [2, -1, 0]]))
    ),
    "multi_label_soft_margin_loss": (A, ONE_HOT, P),
    "npair_loss": (A, B, fixed([0, 1])),
    "square_error_cost": (A, B),
    "mse_loss": (A, B),
    "l1_loss": (A, B),
    "smooth_l1_loss": (A, B, "mean", 0.5),
    "kl_div": (A, P),
    "poisson_nll_loss": (A, P, True, True),
    "gaussian_nll_loss": (A, B, P, True, 1e-6, "mean"),
    "margin_ranking_loss": (A, B, SIGNS, 0.2),
    "hinge_embedding_loss": (A, SIGNS),
    "soft_margin_loss": (A, SIGNS),
    "cosine_embedding_loss": (A, B, fixed([1, -1])),
    "triplet_margin": sample(A, B, wave(2, 3, shift=2), via=F.triplet_margin_loss),
    "adaptive_log_softmax": sample(
        A,
        wave(3, 3),
        wave(3, 1),
        wave(1, 2),
        via=lambda x, head, first, second: F.adaptive_log_softmax_with_loss(
            x, LABEL.tensor(), head, [[first, second]], [2, 4]
        )[0],
    ),
    "margin_cross_entropy": sample(
        A * 0.6, via=lambda x: F.margin_cross_entropy(x, LABEL.tensor(), margin2=0.2, margin3=0.1, scale=2.0)
    ),
    "ctc_loss": sample(
        wave(3, 1, 3), via=lambda x: F.ctc_loss(x, *(tensor(n) for n in ([[1, 2]], [3], [2])), reduction="sum")
    ),
    "ctc_mean": (C, fixed([1, 2, 3])),
    "rnnt_loss": sample(
        wave(1, 2, 2, 3),
        via=lambda x: F.rnnt_loss(x, *(tensor(n) for n in ([[1]], [2], [1])), fastemit_lambda=0.0, reduction="sum"),
    ),
    "hsigmoid_loss": sample(A, wave(3, 3), wave(3, 1), via=lambda x, w, b: F.hsigmoid_loss(x, LABEL.tensor(), 4, w, b)),
}

TRIL = np.array([[1.2, 0.0], [0.4, 0.8]])
DISTRIBUTIONS: dict[str, Any] = {
    **{
        f"{kind}_{n}": (P,)
        for kind, names in {
            "continuousbernoulli": "mean variance entropy",
            "bernoulli": "variance entropy",
            "geometric": "mean variance entropy",
            "normal": "variance",
            "laplace": "stddev variance entropy",
            "cauchy": "entropy",
            "exponential": "mean variance entropy",
            "dirichlet": "mean variance entropy",
            "gumbel": "variance entropy",
        }.items()
        for n in names.split()
    },
    **{
        f"{kind}_{n}": (P, Q + 0.5)
        for kind, names in {
            "normal": "entropy",
            "uniform": "mean variance entropy",
            "gamma": "mean variance entropy",
            "beta": "mean variance entropy",
            "lognormal": "mean entropy",
            "gumbel": "mean",
            "exponential": "log_prob cdf icdf",
            "bernoulli": "kl",
            "geometric": "kl",
            "poisson": "kl",
            "dirichlet": "log_prob kl",
        }.items()
        for n in names.split()
    },
    **{f"{kind}_log_prob": (A, B, P + 0.5) for kind in "normal laplace cauchy gumbel".split()},
    **{f"{kind}_cdf": (A, B, P) for kind in "laplace cauchy gumbel".split()},
    **{f"{kind}_log_prob": (P, Q + 0.5, R + 0.5) for kind in "lognormal gamma beta".split()},
    **{f"{kind}_kl": (A, P + 0.5, B, Q + 0.5) for kind in "cauchy normal laplace".split()},
    **{f"{kind}_kl": (P, Q, P[:, ::-1], R) for kind in "beta gamma".split()},
    **{f"{kind}_rsample": ([2, 3], B, P + 2) for kind in "normal uniform laplace cauchy gumbel".split()},
    **{f"{kind}_rsample": ([2, 3], P) for kind in "exponential continuousbernoulli".split()},
    "geometric_rsample": "whole numbers",
    "bernoulli_log_prob": (fixed([[1, 0, 1], [0, 0, 1]], "float64"), P),
    "bernoulli_logistic": ([2, 3], A),
    "bernoulli_kl": (P, Q),
    **{f"continuousbernoulli_{n}": (P, Q) for n in "log_prob cdf icdf kl".split()},
    "geometric_kl": (P, Q),
    "exponential_kl": (P, Q),
    "geometric_log_pmf": (fixed([[1, 0, 2]], "float64"), P),
    "geometric_cdf": (fixed([[1, 0, 2]], "float64"), P),
    "poisson_log_prob": (fixed([[1, 0, 2]], "float64"), P),
    "poisson_entropy": (P,),
    "binomial_mean": (fixed([4], "float64"), P),
    "binomial_variance": (fixed([4], "float64"), P),
    "binomial_log_prob": (fixed([[1, 0, 4]], "float64"), fixed([4], "float64"), P),
    "binomial_entropy": (fixed([4], "float64"), P, 8),
    "binomial_kl": (fixed([4], "float64"), P, fixed([4], "float64"), Q),
    "multinomial_mean": (3, WEIGHTS),
    "multinomial_variance": (3, WEIGHTS),
    "multinomial_log_prob": (fixed([1, 0, 2], "float64"), 3, WEIGHTS),
    "multinomial_entropy": (3, WEIGHTS),
    "multinomial_kl": (3, WEIGHTS, 3, R),
    "categorical_log_weights": (fixed([[0], [2]]), P),
    "categorical_entropy": (A,),
    "categorical_kl": (A, B),
    "uniform_log_prob": (fixed(P, "float64"), P - 1, P + 1),
    "uniform_kl": (P, P + 1, P - 1, P + 2),
    "laplace_icdf": (P, A, Q),
    "studentt_mean": (P + 3, A),
    "studentt_variance": (P + 3, Q),
    "studentt_log_prob": (A, P + 3, B, Q),
    "studentt_entropy": (P + 3, Q),
    "multivariatenormal_variance": (C[:2], TRIL),
    "multivariatenormal_rsample": ([2], C[:2], TRIL),
    "multivariatenormal_log_prob": sample(C[:2], R[:2], TRIL, via=lambda x, loc, l: normal(loc, l).log_prob(x)),
    "multivariatenormal_entropy": (C[:2], TRIL),
    "multivariatenormal_kl": sample(
        C[:2],
        TRIL,
        R[:2],
        TRIL + np.eye(2),
        via=lambda a, l, b, m: paddle.distribution.kl_divergence(normal(a, l), normal(b, m)),
    ),
    "lognormal_variance": (A * 0.3, P),
    "tril_of_precision": sample(SPD, via=lambda x: registry["tril_of_precision"].public((x + x.T) / 2)),
    "lkjcholesky_log_prob": sample(TRIL / np.linalg.norm(TRIL, axis=1, keepdims=True), np.array([1.5])),
    "normal": sample(A, P, via=paddle.normal),
}

SAMPLES = (
    ELEMENTWISE | SHAPES | REDUCTIONS | PRODUCTS | MATRICES | SIGNALS | LAYERS | DETECTION | LOSSES | DISTRIBUTIONS
)
del SAMPLES["geometric_rsample"]

NOT_DIFFERENTIABLE = {
    "whole numbers or bools come out": """equal not_equal less_than less_equal greater_than greater_equal equal_all isclose
        allclose isin logical_and logical_or logical_xor logical_not bitwise_and bitwise_or bitwise_xor bitwise_not
        bitwise_left_shift bitwise_right_shift signbit isnan isinf isfinite isposinf isneginf isreal gcd lcm all any
        count_nonzero argmax argmin argsort searchsorted searchsorted_sorter one_hot shard_index sequence_mask gather_tree
        numel shape matrix_rank int_bincount histogram histogramdd accuracy _top_k_hits viterbi_path""",
    "a step function, as officially without a gradient": "trunc_divide floor_divide nextafter",
    "made without a floating input": "full full_like eye empty_like_vector cond_empty prior_box",
    "random numbers without a path from the parameters": """uniform gaussian uniform_seeded complex_normal randint randperm
        bernoulli multinomial binomial exponential geometric cauchy top_p_sampling poisson bernoulli_draw poisson_draw
        binomial_draw multinomial_draw categorical_draw geometric_rsample lkjcholesky_draw""",
    "gradients hold in the mean only, see test_implicit_gradients_hold_in_the_mean": """standard_gamma gamma_rsample
        beta_rsample dirichlet_rsample studentt_rsample""",
    "the bits of the memory, not the numbers": "view_dtype",
    "steps of decoding and caches": """beam_search_step gather_beams cache_write cached_attention rotated_heads length_mask""",
    "work on gradients and statistics": """embedding_renorm embedding_gradient total_norm shrink bound auc
        auc_area auc_window""",
    "numbers in 8 bits, tested in tests/amp/test_fp8.py": """fp8_linear fp8_linear_grad fp8_product fp8_fp8_half_gemm_fused
        fp8_quant_blockwise fused_act_dequant fused_weighted_swiglu_act_quant fused_swiglu_weighted_bwd
        cross_entropy_with_softmax_bwd_w_downcast embedding_grad_add_to""",
    "piecewise constant distribution functions": "bernoulli_cdf",
    "a square factor that is not determined by the matrix": "qr_complete",
    "recorded in programs, where they stand for other functions": """getitem setitem stop_gradient arange linspace
        first_true""",
    "a gradient by convention, tested in tests/static": "cvm",
    "kernels of the GPU": "flash_attention",
    "boxes that are not trained, as officially": "prior_box box_coder yolo_box",
    "numbers in few bits, tested with the layers that use them": """_quantize _dequantize fake_quantize largest_magnitude
        llm_int8_linear weight_only_linear quantize_linear dequantize_linear integer_linear""",
}
