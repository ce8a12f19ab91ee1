"""Our operators as functions of PyTorch: the table that `to_torch` reads.

A function has the parameters of our operator by position. Random keys are left out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..engine import errors
from .package import torch

__all__ = ["FUNCTIONS", "ours"]

FUNCTIONS: dict[str, Callable] = {}


def ours(*names: str) -> Callable:
    """Make a function the translation of operators of ours."""

    def add(function: Callable) -> Callable:
        for name in names:
            FUNCTIONS[name] = function
        return function

    return add


def _by_name(where: str, ours_and_theirs: dict[str, str]) -> None:
    """Rows of operators whose arguments are those of a function of PyTorch."""

    def row(theirs: str) -> Callable:
        def call(*args: Any) -> Any:
            owner = torch
            for part in [p for p in where.split(".") if p]:
                owner = getattr(owner, part)
            return getattr(owner, theirs)(*args)

        return call

    for name, theirs in ours_and_theirs.items():
        FUNCTIONS[name] = row(theirs)


_SAME = (
    "abs acos acosh asin asinh atan atanh atan2 ceil cos cosh digamma erf erfinv exp expm1 floor frac isfinite isinf isnan "
    "lgamma log log10 log1p log2 logical_not neg reciprocal relu rsqrt sgn sigmoid sign sin sinh sqrt square tan tanh trunc "
    "bitwise_not real imag conj angle det inverse bmm mv outer"
).split()
_by_name("", {n: n for n in _SAME})
_by_name("nn.functional", {n: n for n in "relu6 silu mish hardswish softsign tanhshrink".split()})
_by_name("nn.functional", {"log_sigmoid": "logsigmoid", "logsigmoid": "logsigmoid", "glu": "glu", "hardtanh": "hardtanh",
                           "leaky_relu": "leaky_relu", "elu": "elu", "celu": "celu", "softshrink": "softshrink",
                           "hardshrink": "hardshrink", "softplus": "softplus"})  # fmt: skip


def _tensor(x: Any, like: Any) -> Any:
    return x if isinstance(x, torch.Tensor) else torch.as_tensor(x, device=like.device)


def _two(theirs: str) -> Callable:
    def call(x: Any, y: Any) -> Any:
        x = x if isinstance(x, torch.Tensor) else torch.as_tensor(x, dtype=y.dtype, device=y.device)
        function = getattr(torch, theirs)
        numbers = theirs not in ("maximum", "minimum", "fmax", "fmin", "atan2") and not theirs.startswith("logical")
        return function(x, y if numbers or isinstance(y, torch.Tensor) else torch.as_tensor(y, dtype=x.dtype))

    return call


for _ours, _theirs in {
    "add": "add", "subtract": "sub", "multiply": "mul", "divide": "div", "floor_divide": "floor_divide", "remainder": "remainder",
    "maximum": "maximum", "minimum": "minimum", "fmax": "fmax", "fmin": "fmin", "pow": "pow", "equal": "eq",
    "not_equal": "ne", "less_than": "lt", "less_equal": "le", "greater_than": "gt", "greater_equal": "ge",
    "logical_and": "logical_and", "logical_or": "logical_or", "logical_xor": "logical_xor", "bitwise_and": "bitwise_and",
    "bitwise_or": "bitwise_or", "bitwise_xor": "bitwise_xor",
}.items():  # fmt: skip
    FUNCTIONS[_ours] = _two(_theirs)


@ours("integer_pow")
def _integer_pow(x, n):
    return torch.pow(x, n)


@ours("assign")
def _assign(x):
    return x


@ours("stop_gradient")
def _stop(x):
    return x.detach()


@ours("cast")
def _cast(x, dtype):
    return x.to(_dtype(dtype))


def _dtype(name: Any) -> Any:
    found = getattr(torch, getattr(name, "name", None) or (np.dtype(name).name if not isinstance(name, str) else name))
    return found


@ours("scale")
def _scale(x, scale, bias, bias_after_scale):
    return x * scale + bias if bias_after_scale else (x + bias) * scale


@ours("clip")
def _clip(x, min, max):
    return torch.clamp(x, min, max)


@ours("where")
def _where(condition, x, y):
    return torch.where(condition, x, y)


@ours("masked_fill")
def _masked_fill(x, mask, value):
    return torch.where(mask, _tensor(value, x).to(x.dtype), x)


@ours("gelu")
def _gelu(x, approximate):
    return torch.nn.functional.gelu(x, approximate="tanh" if approximate else "none")


@ours("swish")
def _swish(x):
    return torch.nn.functional.silu(x)


@ours("selu")
def _selu(x, scale, alpha):
    return torch.where(x > 0, x * scale, scale * alpha * torch.expm1(x))


@ours("hardsigmoid")
def _hardsigmoid(x, slope, offset):
    return torch.clamp(x * slope + offset, 0, 1)


@ours("prelu")
def _prelu(x, weight, data_format):
    if weight.numel() > 1:
        axis = 1 if str(data_format).startswith("NC") else x.ndim - 1
        weight = weight.reshape([-1 if i == axis else 1 for i in range(x.ndim)])
    return torch.clamp(x, min=0) + weight * torch.clamp(x, max=0)


@ours("swiglu")
def _swiglu(x, y):
    x, y = torch.chunk(x, 2, -1) if y is None else (x, y)
    return torch.nn.functional.silu(x) * y


@ours("softmax")
def _softmax(x, axis, dtype):
    return torch.softmax(x if dtype is None else _cast(x, dtype), axis)


@ours("log_softmax")
def _log_softmax(x, axis, dtype):
    return torch.log_softmax(x if dtype is None else _cast(x, dtype), axis)


# ---- reductions and products ----


def _axes(x: Any, axis: Any) -> Any:
    return tuple(range(x.ndim)) if axis is None or axis == () else axis


@ours("mean")
def _mean(x, axis, keepdim, dtype=None):
    return torch.mean(x if dtype is None else _cast(x, dtype), _axes(x, axis), keepdim)


@ours("sum")
def _sum(x, axis, dtype, keepdim):
    return torch.sum(x if dtype is None else _cast(x, dtype), _axes(x, axis), keepdim)


@ours("max", "amax")
def _max(x, axis, keepdim):
    return torch.amax(x, _axes(x, axis), keepdim)


@ours("min", "amin")
def _min(x, axis, keepdim):
    return torch.amin(x, _axes(x, axis), keepdim)


@ours("any")
def _any(x, axis, keepdim):
    return torch.any(x.bool(), _axes(x, axis), keepdim)


@ours("all")
def _all(x, axis, keepdim):
    return torch.all(x.bool(), _axes(x, axis), keepdim)


@ours("argmax")
def _argmax(x, axis, keepdim, dtype):
    return _cast(torch.argmax(x, axis, keepdim), dtype)


@ours("argmin")
def _argmin(x, axis, keepdim, dtype):
    return _cast(torch.argmin(x, axis, keepdim), dtype)


@ours("var")
def _var(x, axis, correction, keepdim):
    return torch.var(x, _axes(x, axis), correction=correction, keepdim=keepdim)


@ours("std")
def _std(x, axis, correction, keepdim):
    return torch.std(x, _axes(x, axis), correction=correction, keepdim=keepdim)


@ours("logsumexp")
def _logsumexp(x, axis, keepdim):
    return torch.logsumexp(x, _axes(x, axis), keepdim)


@ours("p_norm")
def _p_norm(x, p, axis, keepdim):
    return torch.linalg.vector_norm(x, p, _axes(x, axis), keepdim)


@ours("normalize")
def _normalize(x, p, axis, epsilon):
    return torch.nn.functional.normalize(x, p, axis, epsilon)


@ours("cumsum")
def _cumsum(x, axis, dtype=None):
    x = x if dtype is None else _cast(x, dtype)
    return torch.cumsum(x.reshape(-1), 0) if axis is None else torch.cumsum(x, axis)


@ours("topk")
def _topk(x, k, axis, largest):
    return tuple(torch.topk(x, k, -1 if axis is None else axis, largest))


@ours("sort")
def _sort(x, axis, descending, stable):
    return torch.sort(x, dim=axis, descending=descending, stable=True)[0]


@ours("argsort")
def _argsort(x, axis, descending, stable):
    return torch.sort(x, dim=axis, descending=descending, stable=True)[1]


@ours("matmul")
def _matmul(x, y, transpose_x=False, transpose_y=False):
    x = x.transpose(-1, -2) if transpose_x and x.ndim > 1 else x
    y = y.transpose(-1, -2) if transpose_y and y.ndim > 1 else y
    return torch.matmul(x, y)


@ours("dot")
def _dot(x, y):
    return torch.sum(x * y, -1)


@ours("addmm")
def _addmm(input, x, y, beta, alpha):
    return beta * input + alpha * torch.matmul(x, y)


@ours("einsum")
def _einsum(operands, equation):
    return torch.einsum(equation, *operands)


# ---- shapes ----


@ours("reshape")
def _reshape(x, shape):
    return torch.reshape(
        x, [x.shape[i] if isinstance(n, int) and n == 0 and x.numel() else n for i, n in enumerate(shape)]
    )


@ours("flatten")
def _flatten(x, start_axis, stop_axis):
    return torch.flatten(x, start_axis, stop_axis)


@ours("transpose")
def _transpose(x, perm):
    return torch.permute(x, tuple(perm))


@ours("squeeze")
def _squeeze(x, axis):
    if axis is None or axis == ():
        return torch.squeeze(x)
    return torch.squeeze(x, tuple(axis) if isinstance(axis, (list, tuple)) else axis)


@ours("unsqueeze")
def _unsqueeze(x, axis):
    axes = list(axis) if isinstance(axis, (list, tuple)) else [axis]
    for a in axes:
        x = torch.unsqueeze(x, a)
    return x


@ours("expand")
def _expand(x, shape):
    return x.expand(tuple(shape))


@ours("tile")
def _tile(x, repeat_times):
    return torch.tile(x, tuple(repeat_times))


@ours("concat")
def _concat(x, axis):
    return torch.cat(x, axis)


@ours("stack")
def _stack(x, axis):
    return torch.stack(x, axis)


@ours("split")
def _split(x, sections, axis):
    if isinstance(sections, int):
        return tuple(torch.split(x, x.shape[axis] // sections, axis))
    return tuple(torch.split(x, list(sections), axis))


@ours("unbind")
def _unbind(x, axis):
    return tuple(torch.unbind(x, axis))


@ours("flip")
def _flip(x, axis):
    return torch.flip(x, tuple(axis) if isinstance(axis, (list, tuple)) else (axis,))


@ours("roll")
def _roll(x, shifts, axis):
    return torch.roll(x, shifts, axis)


@ours("tril")
def _tril(x, diagonal):
    return torch.tril(x, diagonal)


@ours("triu")
def _triu(x, diagonal):
    return torch.triu(x, diagonal)


@ours("shape")
def _shape(x):
    return torch.tensor(list(x.shape), dtype=torch.int64)


@ours("numel")
def _numel(x):
    return torch.tensor(x.numel(), dtype=torch.int64)


@ours("full")
def _full(shape, fill_value, dtype):
    return torch.full(tuple(shape), fill_value, dtype=_dtype(dtype))


@ours("full_like")
def _full_like(x, fill_value, dtype):
    return torch.full_like(x, fill_value, dtype=None if dtype is None else _dtype(dtype))


@ours("arange")
def _arange(start, end, step, dtype):
    return torch.arange(start, end, step, dtype=None if dtype is None else _dtype(dtype))


@ours("one_hot")
def _one_hot(x, classes):
    return torch.nn.functional.one_hot(x, classes).float()


@ours("select")
def _select(x, index, axis):
    return torch.select(x, axis, index)


def _sliced(x: Any, axis: int, start: Any, stop: Any, step: int) -> Any:
    if step > 0:
        return x[(slice(None),) * axis + (slice(start, stop, step),)]
    places = list(range(x.shape[axis]))[slice(start, stop, step)]
    return torch.index_select(x, axis, torch.tensor(places, dtype=torch.int64, device=x.device))


@ours("getitem")
def _getitem(x, arrays, form):
    given, items = iter(arrays), []
    axis = 0
    for entry in form:
        if isinstance(entry, str):
            items.append(next(given) if entry == "array" else None)
            axis += entry == "array"
            continue
        if isinstance(entry, (list, tuple)):
            start, stop, step = entry
            step = 1 if step is None else step
            stop = None if isinstance(stop, int) and stop >= 2**31 - 1 else stop
            if step < 0:
                x = _sliced(x, axis, start, stop, step)
                entry = slice(None)
            else:
                entry = slice(start, stop, step)
        items.append(entry)
        axis += 1
    return x[tuple(items)]


@ours("slice_get")
def _slice_get(x, starts, form):
    lengths, steps, drop, new = form
    for axis, (start, length, step) in enumerate(zip(list(starts), lengths, steps)):
        start = int(start)
        if step > 0:
            x = x.narrow(axis, start, (length - 1) * step + 1 if length else 0)
            x = x[(slice(None),) * axis + (slice(None, None, step),)] if step > 1 else x
        else:
            places = [start + i * step for i in range(length)]
            x = torch.index_select(x, axis, torch.tensor(places, dtype=torch.int64, device=x.device))
    for axis in sorted(drop, reverse=True):
        x = x.squeeze(axis)
    for axis in sorted(new):
        x = x.unsqueeze(axis)
    return x


@ours("gather")
def _gather(x, index, axis):
    axis = 0 if axis is None else axis
    found = torch.index_select(x, axis, index.reshape(-1).long())
    return found if index.ndim == 1 else found.reshape([*x.shape[:axis], *index.shape, *x.shape[axis + 1 :]])


@ours("take_along_axis")
def _take_along_axis(x, index, axis):
    return torch.gather(x, axis, index.long())


@ours("pad")
def _pad(x, pads, mode, value):
    spans = [int(n) if isinstance(n, np.integer) else n for pair in reversed(pads) for n in pair]
    if mode == "constant":
        return torch.nn.functional.pad(x, spans, "constant", value)
    kept = spans[: 2 * (x.ndim - 2)]
    if any(not isinstance(n, int) or n for n in spans[len(kept) :]):
        raise errors.NotImplemented_(f"to_torch: pad in mode {mode!r} of the batch or channels")
    return torch.nn.functional.pad(x, kept, mode)


# ---- networks ----


@ours("linear")
def _linear(x, weight, bias):
    product = torch.matmul(x, weight)
    return product if bias is None else product + bias


def linear_transposed(x: Any, weight: Any, bias: Any) -> Any:
    """Our linear with a weight that lies as [out, in]."""
    return torch.nn.functional.linear(x, weight, bias)


def _first(x: Any, data_format: Any) -> tuple[Any, bool]:
    """x with the channels second, and whether they were last."""
    last = isinstance(data_format, str) and data_format.endswith("C") and len(data_format) > 2
    return (x.movedim(-1, 1) if last else x), last


def _back(x: Any, last: bool) -> Any:
    return x.movedim(1, -1) if last else x


def _list(v: Any, n: int) -> list:
    found = list(v) if isinstance(v, (list, tuple)) else [v]
    return found * n if len(found) == 1 else found


def _pads(x: Any, padding: Any, n: int, kernel: list, stride: list, last: bool) -> list[tuple]:
    """(before, after) for each spatial axis."""
    if isinstance(padding, str):
        if padding.upper() == "VALID":
            return [(0, 0)] * n
        totals = [max((-(-l // s) - 1) * s + k - l, 0) for l, k, s in zip(x.shape[2:], kernel, stride)]
        return [(t // 2, t - t // 2) for t in totals]
    given = _list(padding, n)
    if isinstance(given[0], (list, tuple)):
        given = given[1:-1] if last else given[2:]
        return [tuple(p) for p in given]
    return [(p, p) for p in given] if len(given) == n else list(zip(given[::2], given[1::2]))


def _padded(x: Any, pads: list, value: float = 0.0) -> tuple[Any, list]:
    """x padded where before and after differ, and the padding that is left to the operator."""
    if all(a == b for a, b in pads):
        return x, [a for a, _ in pads]
    spans = [p for pair in reversed(pads) for p in pair]
    return torch.nn.functional.pad(x, spans, value=value), [0] * len(pads)


def _conv(n: int) -> Callable:
    def call(x, weight, bias, stride, padding, dilation, groups, data_format):
        x, last = _first(x, data_format)
        kernel, stride = list(weight.shape[2:]), _list(stride, n)
        dilation = [1] * n if isinstance(padding, str) and padding.upper() == "SAME" else _list(dilation, n)
        x, pads = _padded(x, _pads(x, padding, n, kernel, stride, last))
        function = (torch.nn.functional.conv1d, torch.nn.functional.conv2d, torch.nn.functional.conv3d)[n - 1]
        return _back(function(x, weight, bias, stride, pads, dilation, groups), last)

    return call


def _conv_transpose(n: int) -> Callable:
    def call(x, weight, bias, stride, padding, output_padding, a, b, output_size, data_format):
        dilation, groups = (a, b) if n == 2 else (b, a)
        x, last = _first(x, data_format)
        kernel, stride, dilation = list(weight.shape[2:]), _list(stride, n), _list(dilation, n)
        pads = _pads(x, padding, n, kernel, stride, last)
        extra = _list(output_padding, n)
        if output_size is not None:
            least = [(l - 1) * s - sum(p) + d * (k - 1) + 1
                     for l, s, p, d, k in zip(x.shape[2:], stride, pads, dilation, kernel)]  # fmt: skip
            extra = [w - m for w, m in zip(_list(output_size, n), least)]
        if any(p != q for p, q in pads):
            raise errors.NotImplemented_("to_torch: a transposed convolution with different padding before and after")
        names = (
            torch.nn.functional.conv_transpose1d,
            torch.nn.functional.conv_transpose2d,
            torch.nn.functional.conv_transpose3d,
        )
        return _back(names[n - 1](x, weight, bias, stride, [p for p, _ in pads], extra, groups, dilation), last)

    return call


for _n in (1, 2, 3):
    FUNCTIONS[f"conv{_n}d"] = _conv(_n)
    FUNCTIONS[f"conv{_n}d_transpose"] = _conv_transpose(_n)


@ours("max_pool")
def _max_pool(x, name, n, kernel_size, stride, padding, ceil_mode, data_format):
    x, last = _first(x, data_format)
    kernel = _list(kernel_size, n)
    stride = kernel if stride is None else _list(stride, n)
    x, pads = _padded(x, _pads(x, padding, n, kernel, stride, last), float("-inf"))
    function = (torch.nn.functional.max_pool1d, torch.nn.functional.max_pool2d, torch.nn.functional.max_pool3d)[n - 1]
    return _back(function(x, kernel, stride, pads, 1, ceil_mode), last)


@ours("avg_pool")
def _avg_pool(x, name, n, kernel_size, stride, padding, exclusive, ceil_mode, divisor_override, data_format):
    x, last = _first(x, data_format)
    kernel = _list(kernel_size, n)
    stride = kernel if stride is None else _list(stride, n)
    pads = _pads(x, padding, n, kernel, stride, last)
    if any(p != q for p, q in pads):
        raise errors.NotImplemented_("to_torch: average pooling with different padding before and after")
    arguments = [x, kernel, stride, [p for p, _ in pads], ceil_mode, not exclusive]
    if n == 1:
        return _back(torch.nn.functional.avg_pool1d(*arguments), last)
    function = torch.nn.functional.avg_pool2d if n == 2 else torch.nn.functional.avg_pool3d
    return _back(function(*arguments, divisor_override), last)


def _sizes(x: Any, output_size: Any, n: int) -> list:
    return [x.shape[2 + i] if s is None else s for i, s in enumerate(_list(output_size, n))]


@ours("adaptive_avg_pool")
def _adaptive_avg_pool(x, name, n, output_size, data_format):
    x, last = _first(x, data_format)
    functional = torch.nn.functional
    function = (functional.adaptive_avg_pool1d, functional.adaptive_avg_pool2d, functional.adaptive_avg_pool3d)[n - 1]
    return _back(function(x, _sizes(x, output_size, n)), last)


@ours("batch_norm")
def _batch_norm(x, mean, var, weight, bias, momentum, batch, frozen, epsilon, data_format):
    x, last = _first(x, data_format)
    out = torch.nn.functional.batch_norm(x, mean, var, weight, bias, batch, 1 - momentum, epsilon)
    return _back(out, last), mean, var


@ours("layer_norm")
def _layer_norm(x, normalized_shape, weight, bias, epsilon):
    shape = _list(normalized_shape, 1)
    weight, bias = (None if p is None else p.reshape(shape) for p in (weight, bias))
    return torch.nn.functional.layer_norm(x, shape, weight, bias, epsilon)


@ours("rms_norm")
def _rms_norm(x, normalized_shape, weight, eps):
    return torch.nn.functional.rms_norm(x, _list(normalized_shape, 1), weight, eps)


@ours("group_norm")
def _group_norm(x, groups, epsilon, weight, bias, data_format):
    x, last = _first(x, data_format)
    return _back(torch.nn.functional.group_norm(x, groups, weight, bias, epsilon), last)


@ours("instance_norm")
def _instance_norm(x, weight, bias, eps, data_format):
    x, last = _first(x, data_format)
    return _back(torch.nn.functional.instance_norm(x, None, None, weight, bias, True, 0.1, eps), last)


@ours("local_response_norm")
def _local_response_norm(x, size, alpha, beta, k, data_format):
    x, last = _first(x, data_format)
    return _back(torch.nn.functional.local_response_norm(x, size, alpha, beta, k), last)


@ours("dropout")
def _dropout(x, p, axis, upscale):
    if axis is not None:
        axes = _list(axis, 1)
        mask = torch.ones([n if i in axes else 1 for i, n in enumerate(x.shape)], dtype=x.dtype, device=x.device)
        out = x * torch.nn.functional.dropout(mask, p, True)
    else:
        out = torch.nn.functional.dropout(x, p, True)
    return out if upscale else out * (1 - p)


@ours("dropout_scale")
def _dropout_scale(x, p):
    return x * (1 - p)


@ours("alpha_dropout")
def _alpha_dropout(x, p, axis):
    if axis is not None:
        raise errors.NotImplemented_("to_torch: alpha_dropout along axes")
    return torch.nn.functional.alpha_dropout(x, p, True)


@ours("embedding")
def _embedding(x, weight, padding_idx, by_frequency):
    found = torch.nn.functional.embedding(x.long(), weight, padding_idx, scale_grad_by_freq=bool(by_frequency))
    return found if padding_idx is None else found * (x != padding_idx).unsqueeze(-1).to(found.dtype)


def _attend(query, key, value, mask, causal, scale, p=0.0):
    query, key, value = (x.transpose(1, 2) for x in (query, key, value))
    if key.shape[1] != query.shape[1]:
        times = query.shape[1] // key.shape[1]
        key, value = (x.repeat_interleave(times, 1) for x in (key, value))
    function = torch.nn.functional.scaled_dot_product_attention
    return function(query, key, value, mask, p, bool(causal), scale=scale).transpose(1, 2)


@ours("attention")
def _attention(query, key, value, mask, causal, scale):
    return _attend(query, key, value, mask, causal, scale)


@ours("flash_attention")
def _flash_attention(query, key, value, causal, scale):
    return _attend(query, key, value, None, causal, scale)


@ours("attention_dropout")
def _attention_dropout(query, key, value, mask, causal, scale, p):
    return _attend(query, key, value, mask, causal, scale, p)


@ours("rnn")
def _rnn(x, states, weights, lengths, mode, reverse, time_major, padded):
    if lengths is not None or weights[4] is not None:
        raise errors.NotImplemented_("to_torch: rnn with sequence lengths or projections")
    given = [w for w in weights[:4] if w is not None]
    if len(given) == 3:
        raise errors.NotImplemented_("to_torch: rnn with one of the two biases")
    x = torch.flip(x, (0 if time_major else 1,)) if reverse else x
    batch, size = x.shape[1 if time_major else 0], weights[1].shape[1]
    count = 2 if mode == "LSTM" else 1
    states = (
        [x.new_zeros((1, batch, size)) for _ in range(count)] if states is None else [s.unsqueeze(0) for s in states]
    )
    function = {"LSTM": torch.lstm, "GRU": torch.gru, "RNN_TANH": torch.rnn_tanh, "RNN_RELU": torch.rnn_relu}[mode]
    out, *last = function(
        x, states if count == 2 else states[0], given, len(given) == 4, 1, 0.0, False, False, not time_major
    )
    out = torch.flip(out, (0 if time_major else 1,)) if reverse else out
    return (out, *[s.squeeze(0) for s in last])


@ours("interpolate")
def _interpolate(x, size, scale, by_scale, mode, align_corners, align_mode, antialias, last):
    if align_mode and not align_corners and mode not in ("nearest", "bicubic"):
        raise errors.NotImplemented_("to_torch: interpolate with align_mode=1")
    x = x.movedim(-1, 1) if last else x
    corners = None if mode == "nearest" else bool(align_corners)
    if scale is not None:
        out = torch.nn.functional.interpolate(
            x, scale_factor=list(scale), mode=mode, align_corners=corners, antialias=bool(antialias),
            recompute_scale_factor=not by_scale,
        )  # fmt: skip
    else:
        out = torch.nn.functional.interpolate(
            x, size=list(size), mode=mode, align_corners=corners, antialias=bool(antialias)
        )
    return _back(out, last)


@ours("pixel_shuffle")
def _pixel_shuffle(x, upscale_factor, data_format):
    x, last = _first(x, data_format)
    return _back(torch.nn.functional.pixel_shuffle(x, upscale_factor), last)


@ours("channel_shuffle")
def _channel_shuffle(x, groups, data_format):
    x, last = _first(x, data_format)
    return _back(torch.nn.functional.channel_shuffle(x, groups), last)


@ours("unfold")
def _unfold(x, kernel_sizes, strides, paddings, dilations):
    return torch.nn.functional.unfold(
        x, _list(kernel_sizes, 2), _list(dilations, 2), _list(paddings, 2)[:2], _list(strides, 2)
    )
