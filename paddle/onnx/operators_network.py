"""Rows for layers: convolution, pooling, normalisation, products, attention, recurrence."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from ..ops import window
from ..ops.recurrent import CELLS
from .convert import ROWS, Converter, row
from .operators_elementwise import number
from .writer import Ref, is_open

# ---- convolution ----


def _channels_first(g: Converter, x: Any, last: bool) -> Any:
    n = x.ndim - 2
    return x if not last else Ref(
        g.transpose(x, [0, n + 1, *range(1, n + 1)]), (x.shape[0], x.shape[-1], *x.shape[1:-1]), x.dtype
    )  # fmt: skip


def _back(g: Converter, out: str, n: int, last: bool) -> str:
    return g.transpose(out, [0, *range(2, n + 2), 1]) if last else out


def _padding(name: str, padding: Any, n: int, last: bool) -> tuple[str, list[int]]:
    """(auto_pad, pads) of ONNX."""
    if isinstance(padding, str):
        return ("SAME_UPPER", []) if padding.upper() == "SAME" else ("NOTSET", [0] * 2 * n)
    pairs = window.pairs(name, padding, n, last, (), (), ())
    return "NOTSET", [*[p[0] for p in pairs], *[p[1] for p in pairs]]


def _bias(g: Converter, bias: Any, channels: int) -> Any:
    if bias is None or bias.shape == (channels,):
        return bias
    return g.expand(bias, [channels])


def _conv(name: str, n: int) -> Any:
    def translate(g: Converter, a: SimpleNamespace) -> str:
        last = window.channel_last(name, a.data_format, n)
        auto, pads = _padding(name, a.padding, n, last)
        dilation = (1,) * n if auto != "NOTSET" else window.sizes(name, "dilation", a.dilation, n)
        out = g(
            "Conv", _channels_first(g, a.x, last), a.weight, _bias(g, a.bias, a.weight.shape[0]),
            kernel_shape=a.weight.shape[2:], strides=window.sizes(name, "stride", a.stride, n), group=a.groups,
            dilations=dilation, **({"pads": pads} if auto == "NOTSET" else {"auto_pad": auto}),
        )  # fmt: skip
        return _back(g, out, n, last)

    return translate


def _conv_transpose(name: str, n: int) -> Any:
    def translate(g: Converter, a: SimpleNamespace) -> Any:
        last = window.channel_last(name, a.data_format, n)
        auto, pads = _padding(name, a.padding, n, last)
        stride = window.sizes(name, "stride", a.stride, n)
        dilation = window.sizes(name, "dilation", a.dilation, n)
        if auto != "NOTSET":
            return NotImplemented
        if a.output_size is None:
            extra = window.sizes(name, "output_padding", a.output_padding, n, 0)
        else:
            lengths = [a.x.shape[i] for i in window.spatial_axes(n, last)]
            wanted = window.sizes(name, "output_size", a.output_size, n)
            if is_open(lengths):
                return NotImplemented
            spans = [d * (k - 1) + 1 for d, k in zip(dilation, a.weight.shape[2:])]
            extra = [
                w - ((length - 1) * s - pads[i] - pads[n + i] + span)
                for i, (w, length, s, span) in enumerate(zip(wanted, lengths, stride, spans))
            ]
        out = g(
            "ConvTranspose", _channels_first(g, a.x, last), a.weight, _bias(g, a.bias, a.weight.shape[1] * a.groups),
            kernel_shape=a.weight.shape[2:], strides=stride, group=a.groups, dilations=dilation, pads=pads,
            output_padding=extra if any(extra) else None,
        )  # fmt: skip
        return _back(g, out, n, last)

    return translate


for _n in (1, 2, 3):
    ROWS[f"conv{_n}d"] = _conv(f"conv{_n}d", _n)
    ROWS[f"conv{_n}d_transpose"] = _conv_transpose(f"conv{_n}d_transpose", _n)


# ---- pooling ----


def _pool(g: Converter, a: SimpleNamespace, kind: str, **more: Any) -> Any:
    last = window.channel_last(a.name, a.data_format, a.n)
    kernel = window.sizes(a.name, "kernel_size", a.kernel_size, a.n)
    stride = kernel if a.stride is None else window.sizes(a.name, "stride", a.stride, a.n)
    auto, pads = _padding(a.name, a.padding, a.n, last)
    if a.ceil_mode:  # ONNX drops a last window that lies in the padding altogether, here it stays
        lengths = [a.x.shape[i] for i in window.spatial_axes(a.n, last)]
        if auto != "NOTSET" or is_open(lengths):
            return NotImplemented
        for i, (length, k, s) in enumerate(zip(lengths, kernel, stride)):
            room = length + pads[i] + pads[a.n + i] - k
            if -(-room // s) * s >= length + pads[i] or kind == "AveragePool":
                return NotImplemented
    if any(p >= k for p, k in zip(pads, kernel * 2)):
        return NotImplemented
    padding: dict = {"pads": pads} if auto == "NOTSET" else {"auto_pad": auto}
    out = g(
        kind, _channels_first(g, a.x, last), kernel_shape=kernel, strides=stride, ceil_mode=int(a.ceil_mode), **padding,
        **more,
    )  # fmt: skip
    return _back(g, out, a.n, last)


@row("max_pool")
def _max_pool(g: Converter, a: SimpleNamespace) -> Any:
    return _pool(g, a, "MaxPool") if a.x.dtype.kind == "f" else NotImplemented


@row("avg_pool")
def _avg_pool(g: Converter, a: SimpleNamespace) -> Any:
    if a.divisor_override is not None:
        return NotImplemented
    return _pool(g, a, "AveragePool", count_include_pad=int(not a.exclusive))


def _adaptive(g: Converter, a: SimpleNamespace, kind: str, last: bool) -> Any:
    n = a.n
    axes = window.spatial_axes(n, last)
    wanted = a.output_size if isinstance(a.output_size, (list, tuple)) else (a.output_size,) * n
    lengths = [a.x.shape[i] for i in axes]
    wanted = [n if w is None else w for w, n in zip(wanted, lengths)]
    if all(isinstance(w, int) and w == 1 for w in wanted):
        return _back(g, g("Global" + kind, _channels_first(g, a.x, last)), n, last)
    if is_open(lengths) or any(length % w for length, w in zip(lengths, wanted)):
        return NotImplemented
    size = [length // w for length, w in zip(lengths, wanted)]
    return _back(g, g(kind, _channels_first(g, a.x, last), kernel_shape=size, strides=size), n, last)


@row("adaptive_avg_pool")
def _adaptive_avg(g: Converter, a: SimpleNamespace) -> Any:
    return _adaptive(g, a, "AveragePool", window.channel_last(a.name, a.data_format, a.n))


@row("adaptive_max_pool")
def _adaptive_max(g: Converter, a: SimpleNamespace) -> Any:
    if a.x.ndim != a.n + 2 or a.x.dtype.kind != "f" or not _unread(g, 1):
        return NotImplemented
    out = _adaptive(g, a, "MaxPool", False)
    return out if out is NotImplemented else [out]


def _unread(g: Converter, first: int) -> bool:
    """Whether nobody reads the results from this one on."""
    return not any(v in g.read for v in g.operator.outputs[first:])


# ---- normalisation ----


@row("batch_norm")
def _batch_norm(g: Converter, a: SimpleNamespace) -> Any:
    mean, variance, x = a.running_mean, a.running_var, a.x
    last = a.data_format[-1] == "C" and a.data_format != "NC"
    if a.batch or x.ndim < 2 or x.dtype not in (np.float32, np.float64, np.float16) or mean.dtype != x.dtype:
        return NotImplemented
    scale = g.constant(np.ones(mean.shape, mean.dtype)) if a.weight is None else a.weight
    bias = g.constant(np.zeros(mean.shape, mean.dtype)) if a.bias is None else a.bias
    x = _channels_first(g, x, last) if x.ndim > 2 else x
    out = g("BatchNormalization", x, scale, bias, mean, variance, epsilon=a.epsilon)
    return [_back(g, out, a.x.ndim - 2, last and a.x.ndim > 2), mean, variance][: len(g.operator.outputs)]


@row("layer_norm")
def _layer_norm(g: Converter, a: SimpleNamespace) -> Any:
    shape = [int(n) for n in a.normalized_shape]
    if g.opset < 17 or a.x.dtype.itemsize < 4:
        return NotImplemented
    weight = g.constant(np.ones(shape, a.x.dtype)) if a.weight is None else g.reshape(a.weight, a.weight.shape, shape)
    bias = None if a.bias is None else g.reshape(a.bias, a.bias.shape, shape)
    return g("LayerNormalization", a.x, weight, bias, axis=-len(shape), epsilon=a.epsilon)


@row("rms_norm")
def _rms_norm(g: Converter, a: SimpleNamespace) -> Any:
    shape = [int(n) for n in a.normalized_shape]
    if g.opset < 23 or a.input.dtype.itemsize < 4:
        return NotImplemented
    weight = g.constant(np.ones(shape, a.input.dtype)) if a.weight is None else a.weight
    return g("RMSNormalization", a.input, weight, axis=-len(shape), epsilon=a.eps)


@row("instance_norm")
def _instance_norm(g: Converter, a: SimpleNamespace) -> Any:
    last = a.data_format[-1] == "C"
    channels = a.x.shape[-1 if last else 1]
    if is_open([channels]) or a.x.ndim < 3 or a.x.dtype.itemsize < 4:
        return NotImplemented
    ones, zeros = (make((channels,), a.x.dtype) for make in (np.ones, np.zeros))
    weight, bias = (d if p is None else p for p, d in ((a.weight, ones), (a.bias, zeros)))
    out = g("InstanceNormalization", _channels_first(g, a.x, last), weight, bias, epsilon=a.eps)
    return _back(g, out, a.x.ndim - 2, last)


@row("group_norm")
def _group_norm(g: Converter, a: SimpleNamespace) -> Any:
    last = a.data_format[-1] == "C"
    channels = a.x.shape[-1 if last else 1]
    if a.x.ndim < 3 or is_open([channels]) or a.x.dtype.itemsize < 4:
        return NotImplemented
    x, n = _channels_first(g, a.x, last), a.x.ndim - 2
    ones, zeros = (make((channels,), a.x.dtype) for make in (np.ones, np.zeros))
    weight, bias = (d if p is None else p for p, d in ((a.weight, ones), (a.bias, zeros)))
    if g.opset >= 21:
        out = g("GroupNormalization", x, weight, bias, epsilon=a.epsilon, num_groups=a.num_groups)
        return _back(g, out, n, last)
    rows = g("Reshape", x, g.ints(0, a.num_groups, -1))
    one, zero = (make((a.num_groups,), a.x.dtype) for make in (np.ones, np.zeros))
    rows = g("InstanceNormalization", rows, one, zero, epsilon=a.epsilon)
    out = g.reshape(rows, ["rows"], x.shape) if not is_open(x.shape) else g("Reshape", rows, g("Shape", x))
    for kind, parameter, given in (("Mul", weight, a.weight), ("Add", bias, a.bias)):
        if given is not None:
            shaped = g.reshape(g.constant(parameter) if not isinstance(parameter, str) else parameter,
                               [channels], [channels, *[1] * n])  # fmt: skip
            out = g(kind, out, shaped)
    return _back(g, out, n, last)


def _softmax(kind: str) -> Any:
    def translate(g: Converter, a: SimpleNamespace) -> Any:
        x = g.cast(a.x, g.operator.outputs[0].dtype)
        return g(kind, x, axis=a.axis) if x.ndim and x.dtype.kind == "f" else NotImplemented

    return translate


ROWS["softmax"], ROWS["log_softmax"] = _softmax("Softmax"), _softmax("LogSoftmax")
ROWS["dropout_scale"] = lambda g, a: (
    NotImplemented if number(g, a.p) is None else g("Mul", a.x, np.asarray(1 - number(g, a.p), a.x.dtype))
)


# ---- products ----


@row("linear")
def _linear(g: Converter, a: SimpleNamespace) -> str:
    if a.x.ndim == 2 and a.bias is not None and a.bias.ndim == 1:
        return g("Gemm", a.x, a.weight, a.bias)
    out = g("MatMul", a.x, a.weight)
    return out if a.bias is None else g("Add", out, a.bias)


@row("matmul", "bmm")
def _matmul(g: Converter, a: SimpleNamespace) -> Any:
    dtype = g.operator.outputs[0].dtype
    if a.x.ndim < 2 or a.y.ndim < 2:
        return NotImplemented
    x, y = g.cast(a.x, dtype), g.cast(a.y, dtype)
    turned = []
    for t, flag in ((x, getattr(a, "transpose_x", False)), (y, getattr(a, "transpose_y", False))):
        order = list(range(t.ndim))
        if flag:
            order[-2:] = order[-1], order[-2]
        turned.append(g.transpose(t, order))
    return g("MatMul", *turned)


@row("embedding")
def _embedding(g: Converter, a: SimpleNamespace) -> Any:
    out = g("Gather", a.weight, a.x)
    if a.padding_idx is None:
        return out
    table = g.array(a.weight)
    if table is not None and not table[a.padding_idx].any():
        return out
    blank = g.unsqueeze(g("Equal", a.x, np.asarray(a.padding_idx, a.x.dtype)), a.x.ndim)
    return g("Where", blank, np.zeros((), a.weight.dtype), out)


@row("attention", "attention_heads_first")
def _attention(g: Converter, a: SimpleNamespace) -> Any:
    """Products and a softmax, in a form that runtimes know."""
    q, k, v = a.query, a.key, a.value
    heads = 2 if g.operator.name == "attention" else 1
    dtype = q.dtype
    if not k.shape[heads] == q.shape[heads] or any(t.dtype != dtype for t in (k, v)):
        return NotImplemented
    if getattr(a, "causal", False) and not q.shape[3 - heads] == k.shape[3 - heads]:
        return NotImplemented
    if heads == 2:
        q, v = (g.transpose(t, [0, 2, 1, 3]) for t in (q, v))
        turned = g.transpose(k, [0, 2, 3, 1])
    else:
        turned = g.transpose(k, [0, 1, 3, 2])
    scores = g("Mul", g("MatMul", q, turned), g.ref(a.scale, dtype))
    if getattr(a, "causal", False):
        n = k.shape[3 - heads]
        full = g.expand(g.constant(np.asarray(np.finfo(dtype).min / 2, dtype)), [n, n])
        scores = g("Add", scores, g("Trilu", full, np.asarray(1, np.int64), upper=1))
    mask = a.mask
    if mask is not None and mask.dtype == np.bool_:
        least = np.asarray(np.finfo(dtype).min, dtype)
        weights = g("Softmax", g("Where", mask, scores, least), axis=-1)
        weights = g("Where", mask, weights, np.zeros((), dtype))  # a position that sees nothing gives 0
    else:
        scores = scores if mask is None else g("Add", scores, g.cast(mask, dtype))
        weights = g("Softmax", scores, axis=-1)
    out = g("MatMul", weights, v)
    return g.transpose(out, [0, 2, 1, 3]) if heads == 2 else out


# ---- recurrence ----

# (operator of ONNX, the order of its gates by ours, further attributes)
_RECURRENT: dict[str, tuple] = {
    "LSTM": ("LSTM", (0, 3, 1, 2), {}),
    "GRU": ("GRU", (1, 0, 2), {"linear_before_reset": 1}),
    "RNN_TANH": ("RNN", (0,), {"activations": ["Tanh"]}),
    "RNN_RELU": ("RNN", (0,), {"activations": ["Relu"]}),
}


@row("rnn")
def _rnn(g: Converter, a: SimpleNamespace) -> Any:
    kind, gates, more = _RECURRENT[a.mode]
    w_ih, w_hh, b_ih, b_hh, projection = a.weights
    if projection is not None or a.lengths is not None and not a.padded or a.x.dtype.kind != "f":
        return NotImplemented
    hidden = w_hh.shape[1]
    x = a.x if a.time_major else g.transpose(a.x, [1, 0, 2])

    def ordered(t: Any) -> Any:
        array = g.array(t)
        if array is not None:
            return np.concatenate(
                [np.split(array, len(gates))[i] for i in gates])[None]  # fmt: skip
        rows = np.concatenate([np.arange(i * hidden, (i + 1) * hidden) for i in gates])
        return g.unsqueeze(g("Gather", t, rows), 0)

    zeros = np.zeros((1, len(gates) * hidden), a.x.dtype)
    biases = [zeros if b is None else ordered(b) for b in (b_ih, b_hh)]
    constant = all(isinstance(b, np.ndarray) for b in biases)
    bias = np.concatenate(biases, 1) if constant else g("Concat", *biases, axis=1)
    states = [None, None] if a.states is None else [g.unsqueeze(s, 0) for s in a.states]
    lengths = None if a.lengths is None else g.cast(a.lengths, np.int32)
    n = CELLS[a.mode].states
    made = g(
        kind, x, ordered(w_ih), ordered(w_hh), bias, lengths, *states[:n], outputs=1 + n, hidden_size=hidden,
        direction="reverse" if a.reverse else "forward", **more,
    )  # fmt: skip
    out = g.squeeze(made[0], 1)
    out = out if a.time_major else g.transpose(out, [1, 0, 2])
    return [out, *[g.squeeze(s, 0) for s in made[1:]]]


# ---- pictures ----


@row("interpolate")
def _interpolate(g: Converter, a: SimpleNamespace) -> Any:
    modes = {"nearest": "nearest", "linear": "linear", "bilinear": "linear", "trilinear": "linear", "bicubic": "cubic"}
    if a.antialias and g.opset < 18 or a.mode not in modes or a.antialias and a.mode == "bicubic":
        return NotImplemented
    x, n = a.x, a.x.ndim - 2
    given = list(a.size if a.scale is None else a.scale)
    if a.mode == "nearest":
        where = "asymmetric"
    elif a.align_corners:
        where = "align_corners"
    else:
        where = "asymmetric" if a.align_mode == 1 and a.mode != "bicubic" else "pytorch_half_pixel"
    more = {"antialias": 1} if a.antialias else {}
    if a.mode == "nearest":
        more["nearest_mode"] = "floor"
    if a.mode == "bicubic":
        more["cubic_coeff_a"] = -0.75
    x = _channels_first(g, x, a.last)
    if a.by_scale and not any(isinstance(s, Ref) for s in given):
        scales = np.array([1, 1, *given], np.float32)
        out = g("Resize", x, None, scales, mode=modes[a.mode], coordinate_transformation_mode=where, **more)
    else:
        if a.scale is not None:
            return NotImplemented
        head = g.shape_of(x.shape[:2])
        parts = [g.unsqueeze(g.cast(s, np.int64), 0) if isinstance(s, Ref) and not s.ndim else
                 g.cast(s, np.int64) if isinstance(s, Ref) else g.length(s) for s in given]  # fmt: skip
        plain = not is_open([*x.shape[:2], *[0.5 if isinstance(s, Ref) else s for s in given]])
        sizes = g.ints(*x.shape[:2], *map(int, given)) if plain and not any(isinstance(s, Ref) for s in given) else g(
            "Concat", head, *parts, axis=0)  # fmt: skip
        out = g("Resize", x, None, None, sizes, mode=modes[a.mode], coordinate_transformation_mode=where, **more)
    return _back(g, out, n, a.last)


@row("pixel_shuffle")
def _pixel_shuffle(g: Converter, a: SimpleNamespace) -> Any:
    last = a.data_format[-1] == "C"
    out = g("DepthToSpace", _channels_first(g, a.x, last), blocksize=a.upscale_factor, mode="CRD")
    return _back(g, out, 2, last)


@row("grid_sample")
def _grid_sample(g: Converter, a: SimpleNamespace) -> Any:
    if g.opset < 16 or a.x.ndim == 5 and g.opset < 20:
        return NotImplemented
    mode = {"bilinear": "bilinear" if g.opset < 20 else "linear", "nearest": "nearest"}[a.mode]
    return g("GridSample", a.x, a.grid, mode=mode, padding_mode=a.padding_mode, align_corners=int(a.align_corners))
