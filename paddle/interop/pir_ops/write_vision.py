"""Writers of convolutions, pools, resizing and rearrangements."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

import paddle as P

from ...engine import errors
from ...engine.value import Dim, Held, Value
from .schema import interfaces
from .writing import WRITERS, Ref, Writing, writes

F = P.nn.functional

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
        out = w.op("unpool", x, indices, w.ints(size), results=results, padding=[0, 0], data_format="NCHW", **common)
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
    name = {
        "linear": "linear",
        "nearest": "nearest",
        "bilinear": "bilinear",
        "trilinear": "trilinear",
        "bicubic": "bicubic",
    }[a.mode]
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


# ---- detection ----

WRITERS["nms"] = lambda w, a: w.op("nms", a.boxes, threshold=float(a.iou_threshold))


@writes("roi_align")
def _roi_align(w: Writing, a: SimpleNamespace) -> Any:
    height, width = _many(a.output_size, 2)
    return w.op(
        "roi_align", a.x, a.boxes, w.cast(a.boxes_num, "int32"), pooled_height=height, pooled_width=width,
        spatial_scale=float(a.spatial_scale), sampling_ratio=int(a.sampling_ratio) or -1, aligned=a.aligned,
    )  # fmt: skip


@writes("roi_pool")
def _roi_pool(w: Writing, a: SimpleNamespace) -> Any:
    height, width = _many(a.output_size, 2)
    kind, shape = w.results[0]
    return w.op(
        "roi_pool", a.x, a.boxes, w.cast(a.boxes_num, "int32"), results=[(kind, shape), ("int64", shape)],
        pooled_height=height, pooled_width=width, spatial_scale=float(a.spatial_scale),
    )[:1]  # fmt: skip


@writes("psroi_pool")
def _psroi_pool(w: Writing, a: SimpleNamespace) -> Any:
    height, width = _many(a.output_size, 2)
    return w.op(
        "psroi_pool", a.x, a.boxes, w.cast(a.boxes_num, "int32"), pooled_height=height, pooled_width=width,
        output_channels=w.results[0][1][1], spatial_scale=float(a.spatial_scale),
    )  # fmt: skip


@writes("deform_conv2d")
def _deform_conv(w: Writing, a: SimpleNamespace) -> Any:
    return w.op(
        "deformable_conv", a.x, a.offset, a.weight, getattr(a, "mask", None), strides=_many(a.stride, 2),
        paddings=_many(a.padding, 2), dilations=_many(a.dilation, 2), deformable_groups=a.parts, groups=a.groups,
        im2col_step=1,
    )  # fmt: skip
