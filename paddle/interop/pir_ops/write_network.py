"""Writers of products, convolutions, pools, normalizations, recurrence, losses."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

import paddle as P

from ...engine import errors
from ...engine.value import Dim, Held, Value
from .schema import interfaces
from .write_elementwise import both
from .writing import COMPOSED, WRITERS, Ref, Writing, composes, writes

F = P.nn.functional

# ---- products ----


@writes("matmul")
def _matmul(w: Writing, a: SimpleNamespace) -> Any:
    x, y = both(w, a.x, a.y, w.results[0][0])
    return w.op("matmul", x, y, transpose_x=a.transpose_x, transpose_y=a.transpose_y)


WRITERS["bmm"] = lambda w, a: w.op("bmm", a.x, a.y)
WRITERS["mv"] = lambda w, a: w.op("mv", a.x, a.vec)
WRITERS["cross"] = lambda w, a: w.op("cross", a.x, a.y, axis=a.axis)
WRITERS["multi_dot"] = lambda w, a: w.op("multi_dot", list(a.x))
WRITERS["bilinear"] = lambda w, a: w.op("bilinear", a.x1, a.x2, a.weight, getattr(a, "bias", None))
WRITERS["einsum"] = lambda w, a: w.op("einsum", list(a.operands), equation=a.equation)[:1]
WRITERS["cholesky"] = lambda w, a: [*w.op("cholesky", a.x, upper=a.upper), w.full(True, "bool")]
WRITERS["inverse"] = lambda w, a: [*w.op("inverse", a.x), w.full(True, "bool")]
WRITERS["slogdet"] = lambda w, a: w.op("slogdet", a.x)
WRITERS["matrix_power"] = lambda w, a: w.op("matrix_power", a.x, n=a.n)
WRITERS["triangular_solve"] = lambda w, a: w.op(
    "triangular_solve", a.x, a.y, upper=a.upper, transpose=a.transpose, unitriangular=a.unitriangular
)
WRITERS["svd"] = lambda w, a: w.op("svd", a.x, full_matrices=a.full_matrices)
WRITERS["eigh"] = lambda w, a: w.op("eigh", a.x, UPLO=a.UPLO)
WRITERS["frame"] = lambda w, a: w.op("frame", a.x, frame_length=a.frame_length, hop_length=a.hop_length, axis=a.axis)
WRITERS["overlap_add"] = lambda w, a: w.op("overlap_add", a.x, hop_length=a.hop_length, axis=a.axis)
WRITERS["eigvalsh"] = lambda w, a: w.op("eigvalsh", a.x, uplo=a.UPLO, is_test=True)[:1]
WRITERS["qr"] = lambda w, a: w.op("qr", a.x, mode="reduced") if len(w.results) == 2 else NotImplemented


@writes("solve")
def _solve(w: Writing, a: SimpleNamespace) -> Any:
    if not a.left:
        return NotImplemented
    return [*w.op("solve", a.x, a.y), w.full(True, "bool")]


@writes("addmm", "baddbmm")
def _addmm(w: Writing, a: SimpleNamespace) -> Any:
    if isinstance(a.beta, Value) or isinstance(a.alpha, Value):
        return NotImplemented
    return w.op(w.operator.name, a.input, a.x, a.y, beta=a.beta, alpha=a.alpha)


COMPOSED["addmm"] = COMPOSED["baddbmm"] = lambda input, x, y, beta, alpha: input * beta + P.matmul(x, y) * alpha


@composes("linear")
def _linear(x: Any, weight: Any, bias: Any = None, **_: Any) -> Any:
    out = P.matmul(x, weight)
    return out if bias is None else P.add(out, bias)


COMPOSED["outer"] = lambda x, y: P.reshape(x, [-1, 1]) * P.reshape(y, [1, -1])
COMPOSED["inner"] = lambda x, y: x * y if not x.ndim or not y.ndim else P.tensordot(x, y, [[x.ndim - 1], [y.ndim - 1]])


@composes("tensordot")
def _tensordot(x: Any, y: Any, axes: Any) -> Any:
    if isinstance(axes, int):
        axes = [list(range(x.ndim - axes, x.ndim)), list(range(axes))]
    left, right = ([v] if isinstance(v, int) else list(v) for v in axes)
    left, right = [i % x.ndim for i in left], [i % y.ndim for i in right]
    keep, take = ([i for i in range(t.ndim) if i not in used] for t, used in ((x, left), (y, right)))
    count = int(np.prod([x._value.shape[i] for i in left]))
    a = P.reshape(P.transpose(x, [*keep, *left]), [-1, count])
    b = P.reshape(P.transpose(y, [*right, *take]), [count, -1])
    return P.reshape(P.matmul(a, b), [x._value.shape[i] for i in keep] + [y._value.shape[i] for i in take])


@writes("fourier")
def _fourier(w: Writing, a: SimpleNamespace) -> Any:
    x = w.ref(a.x)
    axes = [i % x.ndim for i in a.axes]
    lengths = [x.shape[i] for i in axes]
    last = None
    sizes = list(a.sizes)
    if a.kind in ("irfftn", "hfftn"):
        last, sizes[-1] = sizes[-1], sizes[-1] // 2 + 1
    if sizes != lengths:
        raise errors.NotImplemented_("a transform of another length than the input's")
    forward = a.kind in ("fftn", "rfftn", "hfftn")
    common = {"axes": axes, "normalization": a.norm, "forward": forward}
    if a.kind in ("fftn", "ifftn"):
        if not x.dtype.startswith("complex"):
            raise errors.NotImplemented_("a complex transform of real numbers")
        return w.op("fft_c2c", x, **common)
    if a.kind in ("rfftn", "ihfftn"):
        return w.op("fft_r2c", x, onesided=True, **common)
    return w.op("fft_c2r", x, last_dim_size=last, **common)


# ---- convolutions, pools ----


def _many(x: Any, n: int) -> list:
    return [int(x)] * n if isinstance(x, (int, np.integer)) else [int(v) for v in x]


def padding_of(padding: Any, n: int, last: bool = False) -> tuple[str, list]:
    """(padding_algorithm, paddings)."""
    if isinstance(padding, str):
        return padding.upper(), [0] * n
    if isinstance(padding, (int, np.integer)):
        return "EXPLICIT", [int(padding)] * n
    padding = list(padding)
    if padding and isinstance(padding[0], (list, tuple)):
        if len(padding) == n + 2:
            padding = padding[1:-1] if last else padding[2:]
        padding = [v for p in padding for v in p]
    return "EXPLICIT", [int(v) for v in padding]


def _widened(w: Writing, x: Any, last: bool) -> Ref:
    """[N, C, L] as [N, C, 1, L], [N, L, C] as [N, 1, L, C]."""
    x = w.ref(x)
    axis = 1 if last else 2
    shape = [*x.shape[:axis], 1, *x.shape[axis:]]
    return w.op("unsqueeze", x, w.ints([axis]), results=[(x.dtype, shape)])[0]


def _narrowed(w: Writing, refs: list, last: bool) -> list:
    axis = w.ints([1 if last else 2])
    return [w.op("squeeze", r, axis, results=[t])[0] for r, t in zip(refs, w.results)]


def _wide_results(w: Writing, last: bool) -> list:
    axis = 1 if last else 2
    return [(d, (*s[:axis], 1, *s[axis:])) for d, s in w.results]


def _add_bias(w: Writing, out: Ref, bias: Any, last: bool) -> Ref:
    if bias is None:
        return out
    bias = w.ref(bias)
    shape = [1] * out.ndim
    shape[-1 if last else 1] = bias.shape[0]
    return w.op("add", out, w.reshape(bias, shape), results=[(out.dtype, out.shape)])[0]


@writes("conv1d", "conv2d", "conv3d")
def _conv(w: Writing, a: SimpleNamespace) -> Any:
    n = int(w.operator.name[4])
    last = a.data_format[-1] == "C"
    algorithm, paddings = padding_of(a.padding, n, last)
    strides, dilations = _many(a.stride, n), _many(a.dilation, n)
    x, weight, results = w.ref(a.x), w.ref(a.weight), w.results
    if n == 1:
        x, weight, results = _widened(w, x, last), _widened(w, weight, False), _wide_results(w, last)
        strides, dilations = [1, *strides], [1, *dilations]
        paddings = [0, *paddings] if len(paddings) == 1 else [0, 0, *paddings]
    depthwise = n <= 2 and a.groups > 1 and a.groups == x.shape[-1 if last else 1] and weight.shape[0] % a.groups == 0
    name = "conv3d" if n == 3 else "depthwise_conv2d" if depthwise else "conv2d"
    layout = ("NDHWC" if last else "NCDHW") if n == 3 else "NHWC" if last else "NCHW"
    out = w.op(
        name, x, weight, results=results, strides=strides, paddings=paddings, padding_algorithm=algorithm,
        dilations=dilations, groups=a.groups, data_format=layout,
    )[0]  # fmt: skip
    out = _add_bias(w, out, getattr(a, "bias", None), last)
    return _narrowed(w, [out], last) if n == 1 else [out]


@writes("conv1d_transpose", "conv2d_transpose", "conv3d_transpose")
def _conv_transpose(w: Writing, a: SimpleNamespace) -> Any:
    n = int(w.operator.name[4])
    last = a.data_format[-1] == "C"
    algorithm, paddings = padding_of(a.padding, n, last)
    strides, dilations, extra = _many(a.stride, n), _many(a.dilation, n), _many(a.output_padding, n)
    size = getattr(a, "output_size", None)
    size = [] if size is None else _many(size, n)
    x, weight, results = w.ref(a.x), w.ref(a.weight), w.results
    if n == 1:
        x, weight, results = _widened(w, x, last), _widened(w, weight, False), _wide_results(w, last)
        strides, dilations, extra = [1, *strides], [1, *dilations], [0, *extra]
        paddings = [0, *paddings] if len(paddings) == 1 else [0, 0, *paddings]
        size = [1, *size] if size else []
    layout = ("NDHWC" if last else "NCDHW") if n == 3 else "NHWC" if last else "NCHW"
    common = dict(
        results=results, strides=strides, paddings=paddings, padding_algorithm=algorithm, dilations=dilations,
        groups=a.groups, data_format=layout, output_padding=extra if any(extra) else [],
    )  # fmt: skip
    if n == 3:
        out = w.op("conv3d_transpose", x, weight, output_size=size, **common)[0]
    else:
        out = w.op("conv2d_transpose", x, weight, w.ints(size), **common)[0]
    out = _add_bias(w, out, getattr(a, "bias", None), last)
    return _narrowed(w, [out], last) if n == 1 else [out]


def _pool(w: Writing, a: SimpleNamespace, kind: str, size: Any, adaptive: bool = False) -> Any:
    n, layout = a.n, getattr(a, "data_format", None) or "NC"
    last = layout[-1] == "C" and layout != "NC"
    size = _many(size, n) if not adaptive else _adaptive_size(w, a, size, n, last)
    stride = getattr(a, "stride", None)
    strides = size if stride is None else _many(stride, n)
    algorithm, paddings = padding_of(getattr(a, "padding", 0), n, last)
    x, results = w.ref(a.x), w.results[:1]
    if n == 1:
        x, results = _widened(w, x, last), _wide_results(w, last)[:1]
        size, strides = [1, *size], [1, *strides]
        paddings = [0, *paddings] if len(paddings) == 1 else [0, 0, *paddings]
    layout = ("NDHWC" if last else "NCDHW") if n == 3 else "NHWC" if last else "NCHW"
    if adaptive:
        strides, paddings = [1] * len(size), [0] * len(size)
    common = dict(
        strides=strides, paddings=paddings, ceil_mode=getattr(a, "ceil_mode", False),
        exclusive=getattr(a, "exclusive", True), data_format=layout, pooling_type=kind, global_pooling=False,
        adaptive=adaptive, padding_algorithm=algorithm,
    )  # fmt: skip
    if n == 3:
        common["kernel_size"] = size
        out = w.op("pool3d", x, results=results, **{k: v for k, v in common.items()})
    else:
        out = w.op("pool2d", x, w.ints(size), results=results, **common)
    return _narrowed(w, out, last) if n == 1 else out


def _adaptive_size(w: Writing, a: SimpleNamespace, size: Any, n: int, last: bool) -> list:
    sizes = [size] * n if isinstance(size, int) or size is None else list(size)
    shape = w.ref(a.x).shape[1:-1] if last else w.ref(a.x).shape[2:]
    found = [s if t is None else t for s, t in zip(shape, sizes)]
    if any(isinstance(f, Dim) or f < 0 for f in found):
        raise errors.NotImplemented_("an adaptive pool to an unknown length")
    return found


@writes("avg_pool")
def _avg_pool(w: Writing, a: SimpleNamespace) -> Any:
    if getattr(a, "divisor_override", None) is not None:
        raise errors.NotImplemented_("a divisor")
    return _pool(w, a, "avg", a.kernel_size)


WRITERS["max_pool"] = lambda w, a: _pool(w, a, "max", a.kernel_size)
WRITERS["adaptive_avg_pool"] = lambda w, a: _pool(w, a, "avg", getattr(a, "output_size", None), True)


@writes("adaptive_max_pool", "max_pool_with_index")
def _max_pool_with_index(w: Writing, a: SimpleNamespace) -> Any:
    n, adaptive = a.n, w.operator.name == "adaptive_max_pool"
    size = _adaptive_size(w, a, a.output_size, n, False) if adaptive else _many(a.kernel_size, n)
    stride = getattr(a, "stride", None)
    strides = size if stride is None else _many(stride, n)
    _, paddings = padding_of(getattr(a, "padding", 0), n)
    x, results = w.ref(a.x), w.results
    if n == 1:
        x, results = _widened(w, x, False), _wide_results(w, False)
        size, strides, paddings = [1, *size], [1, *strides], [0, *paddings]
    name = "max_pool3d_with_index" if n == 3 else "max_pool2d_with_index"
    if adaptive:
        strides, paddings = [1] * len(size), [0] * len(size)
    out = w.op(
        name, x, results=results, kernel_size=size, strides=strides, paddings=paddings, global_pooling=False,
        adaptive=adaptive, ceil_mode=getattr(a, "ceil_mode", False),
    )  # fmt: skip
    return _narrowed(w, out, False) if n == 1 else out


@writes("max_unpool")
def _max_unpool(w: Writing, a: SimpleNamespace) -> Any:
    x, indices, size = w.ref(a.x), w.ref(a.indices), list(a.output_size)
    n = len(size)
    results = w.results
    if n == 1:
        x, indices = _widened(w, x, False), _widened(w, indices, False)
        size, results = [1, *size], _wide_results(w, False)
    indices = w.cast(indices, "int32")
    ones = [1] * len(size)
    common = {"ksize": ones, "strides": ones}
    if n == 3:
        names = interfaces()["unpool3d"].attributes
        common = {k: v for k, v in {**common, "paddings": [0] * 3, "output_size": size}.items() if k in names}
        out = w.op("unpool3d", x, indices, results=results, data_format="NCDHW", **common)
    else:
        out = w.op(
            "unpool", x, indices, w.ints(size), results=results, padding=[0, 0], data_format="NCHW", **common
        )
    return _narrowed(w, out, False) if n == 1 else out


@writes("lp_pool")
def _lp_pool(w: Writing, a: SimpleNamespace) -> Any:
    if a.n != 2:
        return NotImplemented
    size = _many(a.kernel_size, 2)
    strides = size if getattr(a, "stride", None) is None else _many(a.stride, 2)
    algorithm, paddings = padding_of(a.padding, 2)
    return w.op(
        "lp_pool2d", a.x, kernel_size=size, strides=strides, paddings=paddings, ceil_mode=a.ceil_mode, exclusive=True,
        data_format=a.data_format, pooling_type="", global_pooling=False, adaptive=False, padding_algorithm=algorithm,
        norm_type=float(a.norm_type),
    )  # fmt: skip


# ---- resizing ----


@writes("interpolate")
def _interpolate(w: Writing, a: SimpleNamespace) -> Any:
    if a.antialias:
        raise errors.NotImplemented_("antialias")
    x = w.ref(a.x)
    n = x.ndim - 2
    size, scale = getattr(a, "size", None), getattr(a, "scale", None)
    name = {"linear": "linear", "nearest": "nearest", "bilinear": "bilinear", "trilinear": "trilinear", "bicubic": "bicubic"}[a.mode]
    layout = "NHWC" if a.last else "NCHW"  # for any rank
    results = w.results
    if n == 1 and name == "nearest":
        x, results = _widened(w, x, a.last), _wide_results(w, a.last)
        size = None if size is None else [1, *size]
        scale = None if scale is None else [1.0, *scale]
    attributes = dict(
        data_format=layout, interp_method=name, align_corners=a.align_corners, align_mode=a.align_mode,
        out_d=-1, out_h=-1, out_w=-1, scale=[],
    )  # fmt: skip
    operands: list = [x, None, None, None]
    if size is not None and (isinstance(size, Held) or any(isinstance(s, (Dim, Held)) for s in size)):
        sizes = [w.cast(w.reshape(w.scalar(s), [1]), "int32") for s in size] if not isinstance(size, Held) else None
        operands[2 if sizes else 1] = sizes or w.cast(w.ints(size), "int32")
    elif size is not None:
        for title, s in zip(("out_w", "out_h", "out_d"), reversed(list(size))):
            attributes[title] = int(s)
    else:
        if isinstance(scale, Value) or any(isinstance(s, (Held, Dim)) for s in scale):
            raise errors.NotImplemented_("a scale that depends on data")
        if not a.by_scale:
            raise errors.NotImplemented_("recompute_scale_factor")
        attributes["scale"] = [float(s) for s in scale]
    out = w.op(name + "_interp", *operands, results=results, **attributes)
    return _narrowed(w, out, a.last) if x.ndim != n + 2 else out


WRITERS["pixel_shuffle"] = lambda w, a: w.op(
    "pixel_shuffle", a.x, upscale_factor=a.upscale_factor, data_format=a.data_format
)
WRITERS["pixel_unshuffle"] = lambda w, a: w.op(
    "pixel_unshuffle", a.x, downscale_factor=a.downscale_factor, data_format=a.data_format
)
WRITERS["channel_shuffle"] = lambda w, a: w.op("channel_shuffle", a.x, groups=a.groups, data_format=a.data_format)
WRITERS["temporal_shift"] = lambda w, a: w.op(
    "temporal_shift", a.x, seg_num=a.seg_num, shift_ratio=a.shift_ratio, data_format=a.data_format
)
WRITERS["grid_sample"] = lambda w, a: w.op(
    "grid_sample", a.x, a.grid, mode=a.mode, padding_mode=a.padding_mode, align_corners=a.align_corners
)
WRITERS["affine_grid"] = lambda w, a: w.op("affine_grid", a.theta, w.ints(a.shape), align_corners=a.align_corners)


def _sides(paddings: Any) -> list:
    found = _many(paddings, 2)
    return found * 2 if len(found) == 2 else found


WRITERS["unfold"] = lambda w, a: w.op(
    "unfold", a.x, kernel_sizes=_many(a.kernel_sizes, 2), strides=_many(a.strides, 2), paddings=_sides(a.paddings),
    dilations=_many(a.dilations, 2),
)  # fmt: skip
WRITERS["fold"] = lambda w, a: w.op(
    "fold", a.x, output_sizes=_many(a.output_sizes, 2), kernel_sizes=_many(a.kernel_sizes, 2),
    strides=_many(a.strides, 2), paddings=_sides(a.paddings), dilations=_many(a.dilations, 2),
)  # fmt: skip

# ---- normalizations ----


@writes("batch_norm")
def _batch_norm(w: Writing, a: SimpleNamespace) -> Any:
    if a.batch:
        raise errors.NotImplemented_("in training mode; call eval() before saving")
    x = w.ref(a.x)
    last = a.data_format[-1] == "C" and a.data_format != "NC"
    mean, variance = w.ref(a.running_mean), w.ref(a.running_var)
    count, kind = mean.shape, mean.dtype
    scale = w.full(1.0, kind, count) if a.weight is None else w.ref(a.weight)
    bias = w.full(0.0, kind, count) if a.bias is None else w.ref(a.bias)
    out = w.op(
        "batch_norm_", x, mean, variance, scale, bias, results=[w.results[0], *[(kind, count)] * 4, ("uint8", (-1,))],
        is_test=True, momentum=float(a.momentum) if isinstance(a.momentum, (int, float)) else 0.9,
        epsilon=a.epsilon, data_format="NHWC" if last else "NCHW", use_global_stats=False, trainable_statistics=False,
    )  # fmt: skip
    return [out[0], mean, variance][: len(w.results)]


@writes("layer_norm")
def _layer_norm(w: Writing, a: SimpleNamespace) -> Any:
    x = w.ref(a.x)
    axis = x.ndim - len(a.normalized_shape)
    size = int(np.prod([int(n) for n in a.normalized_shape]))
    weight, bias = (
        None if p is None else w.ref(p) if w.ref(p).ndim == 1 else w.reshape(p, [size])
        for p in (getattr(a, "weight", None), getattr(a, "bias", None))
    )
    rows = ("float32", x.shape[:axis])
    return w.op(
        "layer_norm", x, weight, bias, results=[w.results[0], rows, rows], epsilon=a.epsilon, begin_norm_axis=axis
    )[:1]


@writes("instance_norm")
def _instance_norm(w: Writing, a: SimpleNamespace) -> Any:
    x = w.ref(a.x)
    if a.data_format[-1] == "C":
        raise errors.NotImplemented_("channels last")
    count = x.shape[1]
    scale = w.full(1.0, x.dtype, [count]) if a.weight is None else a.weight
    bias = w.full(0.0, x.dtype, [count]) if a.bias is None else a.bias
    return w.op(
        "instance_norm", x, scale, bias, results=[w.results[0], *[(x.dtype, (-1,))] * 2], epsilon=a.eps
    )[:1]


@writes("group_norm")
def _group_norm(w: Writing, a: SimpleNamespace) -> Any:
    x = w.ref(a.x)
    layout = "NHWC" if a.data_format[-1] == "C" else "NCHW"
    rows = (x.dtype, (x.shape[0], a.num_groups))
    return w.op(
        "group_norm", x, a.weight, a.bias, results=[w.results[0], rows, rows], epsilon=a.epsilon, groups=a.num_groups,
        data_format=layout,
    )[:1]  # fmt: skip


def _rms(x: Any, weight: Any, epsilon: float, axis: int) -> Any:
    axes = list(range(axis % x.ndim, x.ndim))
    inverse = P.rsqrt(P.mean(x * x, axes, True) + epsilon)
    out = x * inverse
    return out if weight is None else out * weight


@composes("fused_rms_norm")
def _fused_rms_norm(x: Any, weight: Any = None, bias: Any = None, epsilon: Any = 1e-6, axis: Any = -1, quant: Any = None, input_bias: Any = None, residual: Any = None, **_: Any) -> Any:  # fmt: skip  # noqa: E501
    if quant is not None and quant[0] > 0:
        raise errors.NotImplemented_("quantisation")
    for more in (input_bias, residual):
        x = x if more is None else x + more
    out = _rms(x, weight, epsilon, axis)
    inverse = P.rsqrt(P.mean(x * x, -1) + epsilon)
    return out if bias is None else out + bias, x, inverse


@composes("rms_norm")
def _rms_norm(x: Any, normalized_shape: Any = None, weight: Any = None, eps: Any = 1e-6, **_: Any) -> Any:
    return _rms(x, weight, eps, x.ndim - len(normalized_shape))


@composes("local_response_norm")
def _local_response_norm(x: Any, size: int, alpha: float, beta: float, k: float, data_format: str) -> Any:
    last = data_format[-1] == "C"
    if last or x.ndim != 4:
        raise errors.NotImplemented_("other than NCHW")
    squares = P.unsqueeze(x * x, 1)
    padded = F.pad(squares, [0, 0, 0, 0, size // 2, (size - 1) // 2], data_format="NCDHW")
    mean = F.avg_pool3d(padded, (size, 1, 1), (1, 1, 1))
    return x / P.pow(P.squeeze(mean, 1) * alpha + k, beta)


@composes("normalize")
def _normalize(x: Any, p: Any, axis: int, epsilon: float) -> Any:
    return x / P.clip(P.linalg.norm(x, p, axis, True), min=epsilon)


WRITERS["softmax"] = lambda w, a: w.op("softmax", w.ref(a.x, w.results[0][0]), axis=a.axis)
WRITERS["log_softmax"] = lambda w, a: w.op("log_softmax", w.ref(a.x, w.results[0][0]), axis=a.axis)
WRITERS["label_smooth"] = lambda w, a: w.op(
    "label_smooth", a.label, getattr(a, "prior_dist", None), epsilon=float(a.epsilon)
)
COMPOSED["dropout_scale"] = lambda x, p: x * (1 - p)


# ---- embedding, attention ----


@writes("embedding")
def _embedding(w: Writing, a: SimpleNamespace) -> Any:
    index = getattr(a, "padding_idx", None)
    return w.op("embedding", a.x, a.weight, padding_idx=-1 if index is None else index, sparse=False)


@composes("attention")
def _attention(query: Any, key: Any, value: Any, mask: Any = None, causal: Any = False, scale: Any = None, **more: Any) -> Any:  # noqa: E501
    if any(v is not None for v in more.values()):
        raise errors.NotImplemented_(f"attention with {', '.join(n for n, v in more.items() if v is not None)}")
    q, k, v = (P.transpose(t, [0, 2, 1, 3]) for t in (query, key, value))
    if k._value.shape[1] != q._value.shape[1]:
        times = q.shape[1] // k.shape[1]
        k, v = (P.repeat_interleave(t, times, axis=1) for t in (k, v))
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    scores = P.matmul(q * scale, k, transpose_y=True)
    if mask is not None:
        scores = P.where(mask, scores, P.full_like(scores, -1e30)) if mask.dtype.name == "bool" else scores + mask
    if causal:
        allowed = P.tril(P.ones_like(scores), diagonal=0)
        scores = P.where(allowed > 0, scores, P.full_like(scores, -1e30))
    return P.transpose(P.matmul(F.softmax(scores, -1), v), [0, 2, 1, 3])


WRITERS["softmax_mask_fuse"] = lambda w, a: NotImplemented
COMPOSED["softmax_mask_fuse"] = lambda x, mask: F.softmax(x + mask, -1)


@composes("softmax_mask_fuse_upper_triangle")
def _triangle(x: Any) -> Any:
    return F.softmax(P.where(P.tril(P.ones_like(x)) > 0, x, P.full_like(x, -1e30)), -1)


@composes("cosine_similarity")
def _cosine(x1: Any, x2: Any, axis: int, eps: float) -> Any:
    n = P.sqrt(P.sum(x1 * x1, axis) * P.sum(x2 * x2, axis))
    return P.sum(x1 * x2, axis) / P.clip(n, min=eps)


@composes("pairwise_distance")
def _pairwise(x: Any, y: Any, p: Any, epsilon: float, keepdim: bool) -> Any:
    return P.linalg.norm(x - y + epsilon, p, -1, keepdim)


@composes("cdist")
def _cdist(x: Any, y: Any, p: Any, compute_mode: str = "") -> Any:
    return P.linalg.norm(P.unsqueeze(x, -2) - P.unsqueeze(y, -3), p, -1)


# ---- recurrence ----


@writes("rnn")
def _rnn(w: Writing, a: SimpleNamespace) -> Any:
    weights = list(a.weights)
    if len(weights) > 4 and weights[4] is not None:
        raise errors.NotImplemented_("a projection")
    if a.lengths is not None and not a.padded:
        raise errors.NotImplemented_("sequence lengths with a cell")
    x = w.ref(a.x)
    if not a.time_major:
        x = w.op("transpose", x, results=[(x.dtype, (x.shape[1], x.shape[0], x.shape[2]))], perm=[1, 0, 2])[0]
    time, batch, inputs = x.shape
    w_ih, w_hh = (w.ref(t) for t in weights[:2])
    hidden, gates = w_hh.shape[1], w_ih.shape[0]
    biases = [w.full(0.0, x.dtype, [gates]) if b is None else w.ref(b) for b in weights[2:4]]
    count = 2 if a.mode == "LSTM" else 1
    if a.states is None:
        shape = [1, batch, hidden]
        if batch < 0:
            length = w.op("slice", w.op("shape64", x, results=[("int64", (3,))])[0], w.ints([1]), w.ints([2]),
                          results=[("int64", ())], axes=[0], infer_flags=[1], decrease_axis=[0])[0]  # fmt: skip
            zero = w.op(
                "full_with_tensor", w.full(0.0, x.dtype, [1]), w.ints([1, length, hidden]), results=[(x.dtype, shape)],
                dtype=x.dtype,
            )[0]  # fmt: skip
        else:
            zero = w.full(0.0, x.dtype, shape)
        states = [zero] * count
    else:
        states = [
            w.op("unsqueeze", s, w.ints([0]), results=[(x.dtype, (1, *w.ref(s).shape))])[0] for s in a.states
        ]
    if a.reverse:  # an official layer runs backwards only beside one that runs forwards
        if a.lengths is not None:
            raise errors.NotImplemented_("a reversed layer with sequence lengths")
        x = w.op("flip", x, results=[(x.dtype, x.shape)], axis=[0])[0]
    out_type = (x.dtype, (time, batch, hidden))
    state_type = (x.dtype, (1, batch, hidden))
    out, _, states_out, _ = w.op(
        "rnn", x, states, [w_ih, w_hh, *biases], None if a.lengths is None else w.cast(a.lengths, "int32"), None,
        results=[out_type, ("uint8", (-1,)), state_type, (x.dtype, (-1,))], dropout_prob=0.0, is_bidirec=False,
        input_size=inputs, hidden_size=hidden, num_layers=1, mode=a.mode, seed=0, is_test=True,
    )  # fmt: skip
    from .format import list_tree, type_tree

    w.operations[-1]["O"][2]["TT"] = list_tree([type_tree(*state_type)] * count)
    parts = [w.new(*state_type, states_out.stop) for _ in range(count)]
    w.add("0.split", [states_out.number], parts, [])
    if a.reverse:
        out = w.op("flip", out, results=[out_type], axis=[0])[0]
    if not a.time_major:
        out = w.op("transpose", out, results=[w.results[0]], perm=[1, 0, 2])[0]
    ends = [w.op("squeeze", p, w.ints([0]), results=[(x.dtype, (batch, hidden))])[0] for p in parts]
    return [out, *ends]


@composes("rnn_cell")
def _rnn_cell(x: Any, states: Any, weights: Any, mode: str) -> Any:
    w_ih, w_hh, b_ih, b_hh, projection = weights
    if states is None:
        raise errors.NotImplemented_("a cell without states")
    z, u = P.matmul(x, w_ih, transpose_y=True), P.matmul(states[0], w_hh, transpose_y=True)
    z, u = (t if b is None else t + b for t, b in ((z, b_ih), (u, b_hh)))
    if mode == "LSTM":
        i, f, g, o = P.split(z + u, 4, axis=-1)
        c = F.sigmoid(f) * states[1] + F.sigmoid(i) * P.tanh(g)
        new = [F.sigmoid(o) * P.tanh(c), c]
    elif mode == "GRU":
        (z_r, z_u, z_c), (u_r, u_u, u_c) = P.split(z, 3, axis=-1), P.split(u, 3, axis=-1)
        update = F.sigmoid(z_u + u_u)
        candidate = P.tanh(z_c + F.sigmoid(z_r + u_r) * u_c)
        new = [update * states[0] + (1 - update) * candidate]
    else:
        new = [P.tanh(z + u) if mode == "RNN_TANH" else F.relu(z + u)]
    return [P.matmul(new[0], projection), *new[1:]] if projection is not None else new


# ---- losses ----


def _reduced(loss: Any, reduction: str) -> Any:
    return P.mean(loss) if reduction == "mean" else P.sum(loss) if reduction == "sum" else loss


@composes("reduce_loss")
def _reduce_loss(loss: Any, weight: Any = None, reduction: str = "mean") -> Any:
    loss = loss if weight is None else loss * weight
    return P.assign(loss) if reduction == "none" else _reduced(loss, reduction)


COMPOSED["mse_loss"] = lambda input, label, reduction: _reduced(P.square(input - label), reduction)
COMPOSED["l1_loss"] = lambda input, label, reduction: _reduced(P.abs(input - label), reduction)
WRITERS["log_loss"] = lambda w, a: w.op("log_loss", a.input, a.label, epsilon=float(a.epsilon))
WRITERS["kl_div"] = lambda w, a: w.op("kldiv_loss", a.input, a.label, reduction=a.reduction, log_target=a.log_target)


@writes("bce_loss")
def _bce(w: Writing, a: SimpleNamespace) -> Any:
    return w.op("bce_loss", a.x, a.label) if getattr(a, "weight", None) is None else NotImplemented


@composes("bce_loss")
def _weighted_bce(x: Any, label: Any, weight: Any) -> Any:
    return F.binary_cross_entropy(x, label, reduction="none") * weight


@composes("smooth_l1_loss")
def _smooth_l1(input: Any, label: Any, reduction: str, delta: Any, is_huber: bool) -> Any:
    d = P.abs(input - label)
    loss = P.where(d <= delta, 0.5 * d * d, delta * d - 0.5 * delta * delta)
    return _reduced(loss if is_huber else loss / delta, reduction)


@composes("binary_cross_entropy_with_logits")
def _bce_with_logits(logit: Any, label: Any, weight: Any = None, reduction: str = "mean", pos_weight: Any = None) -> Any:
    softened = P.log1p(P.exp(-P.abs(logit))) + P.clip(-logit, min=0.0)
    factor = 1.0 if pos_weight is None else (pos_weight - 1) * label + 1
    loss = (1 - label) * logit + softened * factor
    return _reduced(loss if weight is None else loss * weight, reduction)


@composes("margin_ranking_loss")
def _margin_ranking(input: Any, other: Any, label: Any, margin: float, reduction: str) -> Any:
    return _reduced(F.relu(-label * (input - other) + margin), reduction)


@writes("nll_loss")
def _nll_loss(w: Writing, a: SimpleNamespace) -> Any:
    weight = getattr(a, "weight", None)
    x = w.ref(a.x)
    return w.op(
        "nll_loss", x, a.label, weight, results=[w.results[0], (x.dtype, ())], ignore_index=a.ignore_index,
        reduction=a.reduction,
    )[:1]  # fmt: skip


@writes("cross_entropy")
def _cross_entropy(w: Writing, a: SimpleNamespace) -> Any:
    if getattr(a, "weight", None) is not None or a.label_smoothing or a.reduction != "none":
        return NotImplemented
    x, label = w.ref(a.x), w.ref(a.label)
    axis = a.axis % x.ndim
    shape = list(x.shape)
    shape[axis] = 1
    if not a.soft_label and label.ndim < x.ndim:
        label = w.op("unsqueeze", label, w.ints([axis]), results=[(label.dtype, shape)])[0]
    out = w.op(
        "cross_entropy_with_softmax", x, label, results=[(x.dtype, x.shape), (x.dtype, shape)],
        soft_label=a.soft_label, use_softmax=a.use_softmax, ignore_index=a.ignore_index, axis=axis,
    )[1]  # fmt: skip
    if len(w.results[0][1]) < x.ndim:
        out = w.op("squeeze", out, w.ints([axis]))[0]
    return [out]


@composes("cross_entropy")
def _cross_entropy_composed(x: Any, label: Any, weight: Any = None, ignore_index: int = -100, reduction: str = "mean", soft_label: bool = False, axis: int = -1, use_softmax: bool = True, label_smoothing: float = 0.0) -> Any:  # fmt: skip  # noqa: E501
    if weight is not None or label_smoothing:
        raise errors.NotImplemented_("weights of classes or label smoothing")
    loss = F.cross_entropy(x, label, None, ignore_index, "none", soft_label, axis, use_softmax)
    if reduction == "sum" or soft_label:
        return _reduced(loss, reduction)
    kept = (label != ignore_index).astype(x.dtype)
    return P.sum(loss) / P.clip(P.sum(kept), min=1.0)


@writes("accuracy")
def _accuracy(w: Writing, a: SimpleNamespace) -> Any:
    x = w.ref(a.input)
    shape = (x.shape[0], a.k)
    best = w.op("topk", x, w.full(a.k, "int32", [1], "cpu"), results=[(x.dtype, shape), ("int64", shape)])
    return w.op("accuracy", *best, w.cast(a.label, "int64"))


# ---- graphs ----


@composes("segment_reduce")
def _segment_reduce(x: Any, index: Any, n: Any, kind: str) -> Any:
    if kind != "sum":
        raise errors.NotImplemented_(f"the kind {kind!r}")
    zeros = P.zeros([n, *x._value.shape[1:]], x.dtype)
    return P.scatter_nd_add(zeros, P.unsqueeze(index, 1), x)


@composes("shard_index")
def _shard_index(x: Any, size: int, shard_id: int, ignore_value: int) -> Any:
    return P.where(P.floor_divide(x, size) == shard_id, P.remainder(x, size), P.full_like(x, ignore_value))
