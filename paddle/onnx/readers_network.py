"""Layers of ONNX as functions of ours."""

from __future__ import annotations

from typing import Any

import numpy as np

import paddle as P
from paddle.ops.recurrent import CELLS, rnn

from .load import READERS, Node, elements, reads, tensor
from .operators_network import _RECURRENT
from .readers_shape import ints

F = P.nn.functional

# ---- windows ----


def _pads(node: Node, x: Any, kernel: list, strides: list, dilations: list) -> list:
    """Padding before and after each axis, in pairs."""
    n, auto = len(kernel), node.get("auto_pad", "NOTSET")
    if auto in ("NOTSET", "VALID"):
        given = node.get("pads", [0] * 2 * n) if auto == "NOTSET" else [0] * 2 * n
        return [v for i in range(n) for v in (given[i], given[n + i])]
    found = []
    for length, k, s, d in zip(x.shape[2:], kernel, strides, dilations):
        if int(length) < 0:
            raise node.missing(f"auto_pad {auto} of lengths that are not known")
        total = max((-(-length // s) - 1) * s + (k - 1) * d + 1 - length, 0)
        small = total // 2
        found += [small, total - small] if auto == "SAME_UPPER" else [total - small, small]
    return found


def _window(node: Node, x: Any, kernel: list) -> tuple:
    n = len(kernel)
    strides, dilations = node.get("strides", [1] * n), node.get("dilations", [1] * n)
    return strides, dilations, _pads(node, x, kernel, strides, dilations)


def _rank(node: Node, x: Any) -> int:
    n = x.ndim - 2
    if n not in (1, 2, 3):
        raise node.missing(f"{x.ndim} axes")
    return n


@reads("Conv")
def _conv(node: Node, x: Any, weight: Any, bias: Any = None) -> Any:
    x, weight = tensor(x), tensor(weight)
    n = _rank(node, x)
    strides, dilations, pads = _window(node, x, [int(k) for k in weight.shape[2:]])
    bias = None if bias is None else tensor(bias)
    return getattr(F, f"conv{n}d")(x, weight, bias, strides, pads, dilations, node.get("group", 1))


@reads("ConvTranspose")
def _conv_transpose(node: Node, x: Any, weight: Any, bias: Any = None) -> Any:
    x, weight = tensor(x), tensor(weight)
    n = _rank(node, x)
    if node.get("auto_pad", "NOTSET") not in ("NOTSET", "VALID") or node.get("output_shape"):
        raise node.missing("auto_pad or output_shape")
    strides, dilations, pads = _window(node, x, [int(k) for k in weight.shape[2:]])
    function, bias = getattr(F, f"conv{n}d_transpose"), None if bias is None else tensor(bias)
    more = node.get("output_padding", [0] * n)
    return function(x, weight, bias, strides, pads, more, groups=node.get("group", 1), dilation=dilations)


@reads("MaxPool")
def _max_pool(node: Node, x: Any) -> Any:
    x = tensor(x)
    n, kernel = _rank(node, x), node.get("kernel_shape")
    strides, dilations, pads = _window(node, x, kernel)
    if set(dilations) != {1} or node.wants(1):
        raise node.missing("dilations or indices")
    if node.get("auto_pad", "NOTSET") == "NOTSET" and any(p > k // 2 for p, k in zip(pads[::2], kernel)):
        x, pads = F.pad(x, [0, 0, 0, 0, *pads], "constant", float("-inf")), [0] * 2 * n
    return getattr(F, f"max_pool{n}d")(x, kernel, strides, pads, ceil_mode=bool(node.get("ceil_mode", 0)))


@reads("AveragePool")
def _average_pool(node: Node, x: Any) -> Any:
    x = tensor(x)
    n, kernel = _rank(node, x), node.get("kernel_shape")
    strides, dilations, pads = _window(node, x, kernel)
    if set(dilations) != {1}:
        raise node.missing("dilations")
    more = {"exclusive": not node.get("count_include_pad", 0), "ceil_mode": bool(node.get("ceil_mode", 0))}
    return getattr(F, f"avg_pool{n}d")(x, kernel, strides, pads, **more)


def _global(function: Any) -> Any:
    return lambda node, x: function(tensor(x), list(range(2, tensor(x).ndim)), keepdim=True)


READERS["GlobalAveragePool"], READERS["GlobalMaxPool"] = _global(P.mean), _global(P.max)


# ---- normalisation ----


@reads("BatchNormalization")
def _batch_norm(node: Node, x: Any, scale: Any, bias: Any, mean: Any, variance: Any) -> Any:
    if node.wants(1):
        raise node.missing("results for training")
    held = [tensor(t) for t in (mean, variance, scale, bias)]
    momentum = node.get("momentum", 0.9)
    return F.batch_norm(tensor(x), *held, training=node.training, momentum=momentum, epsilon=node.get("epsilon", 1e-5))


@reads("InstanceNormalization")
def _instance_norm(node: Node, x: Any, scale: Any, bias: Any) -> Any:
    return F.instance_norm(tensor(x), weight=tensor(scale), bias=tensor(bias), eps=node.get("epsilon", 1e-5))


@reads("LayerNormalization")
def _layer_norm(node: Node, x: Any, scale: Any, bias: Any = None) -> Any:
    if node.wants(1):
        raise node.missing("mean and deviation as results")
    x, scale = tensor(x), tensor(scale)
    axis = node.get("axis", -1) % x.ndim
    shape = [int(n) for n in x.shape[axis:]]
    return F.layer_norm(x, shape, scale, None if bias is None else tensor(bias), node.get("epsilon", 1e-5))


@reads("RMSNormalization")
def _rms_norm(node: Node, x: Any, scale: Any) -> Any:
    x = tensor(x)
    axes = list(range(node.get("axis", -1) % x.ndim, x.ndim))
    return x * P.rsqrt(P.mean(x * x, axes, True) + node.get("epsilon", 1e-5)) * tensor(scale)


@reads("GroupNormalization")
def _group_norm(node: Node, x: Any, scale: Any, bias: Any) -> Any:
    x, scale, bias, groups = tensor(x), tensor(scale), tensor(bias), node.get("num_groups")
    if node.opset < 21:  # one for each group
        times = x.shape[1] // groups
        scale, bias = P.repeat_interleave(scale, times), P.repeat_interleave(bias, times)
    return F.group_norm(x, groups, node.get("epsilon", 1e-5), scale, bias)


@reads("LRN")
def _lrn(node: Node, x: Any) -> Any:
    return F.local_response_norm(
        tensor(x), node.get("size"), node.get("alpha", 1e-4), node.get("beta", 0.75), node.get("bias", 1.0)
    )


@reads("LpNormalization")
def _lp_normalization(node: Node, x: Any) -> Any:
    return F.normalize(tensor(x), node.get("p", 2), node.get("axis", -1))


@reads("MeanVarianceNormalization")
def _mean_variance(node: Node, x: Any) -> Any:
    x, axes = tensor(x), node.get("axes", [0, 2, 3])
    moved = x - P.mean(x, axes, True)
    return moved / (P.sqrt(P.mean(moved * moved, axes, True)) + 1e-9)


def _softmax(function: Any) -> Any:
    def read(node: Node, x: Any) -> Any:
        x = tensor(x)
        if node.opset >= 13:
            return function(x, node.get("axis", -1))
        axis = node.get("axis", 1) % x.ndim
        if axis == x.ndim - 1:
            return function(x, -1)
        flat = P.flatten(x, axis, -1)  # the axes from this one on together
        return P.reshape(function(flat, -1), x.shape)

    return read


READERS["Softmax"], READERS["LogSoftmax"] = _softmax(F.softmax), _softmax(F.log_softmax)


@reads("Dropout")
def _dropout(node: Node, x: Any, ratio: Any = None, training: Any = None) -> Any:
    if node.wants(1):
        raise node.missing("the mask as a result")
    share = node.get("ratio", 0.5) if ratio is None else float(elements(node, ratio)[0])
    return F.dropout(tensor(x), share, training=node.training)


# ---- products ----

READERS["MatMul"] = lambda node, x, y: P.matmul(tensor(x), tensor(y))
READERS["Einsum"] = lambda node, *xs: P.einsum(node.get("equation").replace(" ", ""), *map(tensor, xs))


@reads("Gemm")
def _gemm(node: Node, x: Any, y: Any, z: Any = None) -> Any:
    x, y, alpha, beta = tensor(x), tensor(y), node.get("alpha", 1.0), node.get("beta", 1.0)
    flags = bool(node.get("transA", 0)), bool(node.get("transB", 0))
    if flags == (False, False) and alpha == beta == 1 and z is not None and tensor(z).ndim == 1:
        if tensor(z).shape[0] == y.shape[1]:
            return F.linear(x, y, tensor(z))
    out = P.matmul(x, y, *flags)
    out = out if alpha == 1 else out * alpha
    return out if z is None else out + (tensor(z) if beta == 1 else tensor(z) * beta)


# ---- recurrence ----


@reads("LSTM", "GRU", "RNN")
def _recurrent(
    node: Node, x: Any, w: Any, r: Any, b: Any = None, lengths: Any = None, h: Any = None, c: Any = None, p: Any = None
) -> tuple:
    kind, activations = node.kind, [a.decode() if isinstance(a, bytes) else a for a in node.get("activations") or []]
    mode = kind if kind != "RNN" else "RNN_RELU" if activations[:1] == ["Relu"] else "RNN_TANH"
    usual = {"LSTM": ["Sigmoid", "Tanh", "Tanh"], "GRU": ["Sigmoid", "Tanh"]}.get(kind, [mode[4:].capitalize()])
    x, w, r = tensor(x), tensor(w), tensor(r)
    directions = int(w.shape[0])
    if activations and activations != usual * directions or p is not None or node.get("clip") or node.get("layout", 0):
        raise node.missing("these activations, peepholes, a clip or this layout")
    if kind == "GRU" and not node.get("linear_before_reset", 0) or node.get("input_forget", 0):
        raise node.missing("linear_before_reset=0 or input_forget")
    order = np.argsort(_RECURRENT[mode][1])
    reverse = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}[node.get("direction", "forward")]

    def turned(t: Any) -> Any:
        if t is None or len(order) == 1:
            return t
        parts = P.split(t, len(order), 0)
        return P.concat([parts[i] for i in order], 0)

    outs, finals = [], []
    for d, back in enumerate(reverse):
        biases = [None, None] if b is None else P.split(tensor(b)[d], 2, 0)
        states = [tensor(s)[d] for s in (h, c) if s is not None] if h is not None else None
        if states is not None and len(states) < CELLS[mode].states:
            states.append(P.zeros_like(states[0]))
        weights = [turned(w[d]), turned(r[d]), *map(turned, biases), None]
        many = None if lengths is None else tensor(lengths).astype("int64")
        out, *last = rnn(x, states, weights, many, mode, back, True, True)
        outs.append(out)
        finals.append(last)
    return (P.stack(outs, 1), *[P.stack([f[i] for f in finals], 0) for i in range(CELLS[mode].states)])


# ---- pictures ----


@reads("Resize", "Upsample")
def _resize(node: Node, x: Any, *more: Any) -> Any:
    x = tensor(x)
    n = _rank(node, x)
    if node.kind == "Upsample" or node.opset < 11:
        scales, sizes, where, nearest = more[0] if more else np.asarray(node.get("scales")), None, "asymmetric", "floor"
    else:
        _, scales, sizes = (*more, None, None, None)[:3]
        where = node.get("coordinate_transformation_mode", "half_pixel")
        nearest = node.get("nearest_mode", "round_prefer_floor")
    if node.get("axes") not in (None, list(range(x.ndim)), list(range(2, x.ndim))):
        raise node.missing("axes")
    mode = {"nearest": "nearest", "linear": ("linear", "bilinear", "trilinear")[n - 1], "cubic": "bicubic"}[
        node.get("mode", "nearest")
    ]
    if sizes is not None:
        given: dict = {"size": ints(node, sizes)[-n:]}
    else:
        factors = [float(s) for s in elements(node, scales)][-n:]
        given = {"scale_factor": factors}
    if mode == "nearest":
        whole = sizes is None and all(s == int(s) for s in factors)
        if not (where == "asymmetric" and nearest == "floor" or whole and where in ("half_pixel", "asymmetric")):
            raise node.missing(f"nearest by {where} and {nearest}")
        return F.interpolate(x, mode=mode, **given)
    if where not in ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric") or (
        mode == "bicubic" and (where == "asymmetric" or node.get("cubic_coeff_a", -0.75) != -0.75)
    ):
        raise node.missing(f"{mode} by {where}")
    flags = {"align_corners": where == "align_corners", "align_mode": int(where == "asymmetric")}
    return F.interpolate(x, mode=mode, antialias=bool(node.get("antialias", 0)), **flags, **given)


@reads("GridSample")
def _grid_sample(node: Node, x: Any, grid: Any) -> Any:
    mode = {"bilinear": "bilinear", "linear": "bilinear", "nearest": "nearest"}.get(node.get("mode", "linear"))
    if mode is None:
        raise node.missing("cubic")
    padding, corners = node.get("padding_mode", "zeros"), bool(node.get("align_corners", 0))
    return F.grid_sample(tensor(x), tensor(grid), mode, padding, corners)
