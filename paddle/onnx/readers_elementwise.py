"""Elementwise operators, reductions and types of ONNX as functions of ours."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

import paddle as P

from .load import READERS, Node, elements, reads, tensor
from .operators_elementwise import SAME, SAME_OF_TWO
from .writer import package

F = P.nn.functional

# ---- one operand ----

_OF_F = ("relu", "sigmoid", "softsign")
for _ours, _theirs in SAME.items():
    READERS[_theirs] = lambda node, x, *, f=getattr(F if _ours in _OF_F else P, _ours): f(tensor(x))

for _theirs, _function in {
    "Identity": lambda x: x, "Sign": P.sign, "Not": P.logical_not, "Round": P.round, "IsNaN": P.isnan,
    "BitwiseNot": P.bitwise_not, "HardSwish": F.hardswish, "Mish": F.mish, "Det": P.linalg.det,
}.items():  # fmt: skip
    READERS[_theirs] = lambda node, x, *, f=_function: f(tensor(x))

READERS["LeakyRelu"] = lambda node, x: F.leaky_relu(tensor(x), node.get("alpha", 0.01))
READERS["Elu"] = lambda node, x: F.elu(tensor(x), node.get("alpha", 1.0))
READERS["Celu"] = lambda node, x: F.celu(tensor(x), node.get("alpha", 1.0))
READERS["ThresholdedRelu"] = lambda node, x: F.thresholded_relu(tensor(x), node.get("alpha", 1.0))
READERS["Softplus"] = lambda node, x: F.softplus(tensor(x))
READERS["Shrink"] = lambda node, x: _shrink(tensor(x), node.get("lambd", 0.5), node.get("bias", 0.0))
READERS["HardSigmoid"] = lambda node, x: F.hardsigmoid(tensor(x), node.get("alpha", 0.2), node.get("beta", 0.5))
READERS["Gelu"] = lambda node, x: F.gelu(tensor(x), node.get("approximate", "none") == "tanh")
READERS["Swish"] = lambda node, x: tensor(x) * F.sigmoid(tensor(x) * node.get("alpha", 1.0))
READERS["Selu"] = lambda node, x: F.selu(
    tensor(x), node.get("gamma", 1.0507009873554805), node.get("alpha", 1.6732632423543772)
)


def _shrink(x: Any, limit: float, bias: float) -> Any:
    zero = P.zeros_like(x)
    return P.where(x < -limit, x + bias, P.where(x > limit, x - bias, zero))


@reads("IsInf")
def _is_inf(node: Node, x: Any) -> Any:
    x = tensor(x)
    found = P.zeros_like(x).astype("bool")
    if node.get("detect_positive", 1):
        found = found | (x == float("inf"))
    return found | (x == float("-inf")) if node.get("detect_negative", 1) else found


@reads("PRelu")
def _prelu(node: Node, x: Any, slope: Any) -> Any:
    x, slope = tensor(x), tensor(slope)
    return P.where(x < 0, x * slope, x)


@reads("Clip")
def _clip(node: Node, x: Any, low: Any = None, high: Any = None) -> Any:
    x = tensor(x)
    low = node.get("min") if low is None else tensor(low)
    high = node.get("max") if high is None else tensor(high)
    x = x if low is None else P.maximum(x, low if isinstance(low, P.Tensor) else P.full([], low, x.dtype))
    return x if high is None else P.minimum(x, high if isinstance(high, P.Tensor) else P.full([], high, x.dtype))


# ---- two operands and more ----

for _ours, _theirs in SAME_OF_TWO.items():
    READERS[_theirs] = lambda node, x, y, *, f=getattr(P, _ours): f(tensor(x), tensor(y))

for _theirs, _function in {
    "And": P.logical_and, "Or": P.logical_or, "Xor": P.logical_xor, "Equal": P.equal, "Greater": P.greater_than,
    "Less": P.less_than, "GreaterOrEqual": P.greater_equal, "LessOrEqual": P.less_equal, "BitwiseAnd": P.bitwise_and,
    "BitwiseOr": P.bitwise_or, "BitwiseXor": P.bitwise_xor,
}.items():  # fmt: skip
    READERS[_theirs] = lambda node, x, y, *, f=_function: f(tensor(x), tensor(y))

for _theirs, _function in {"Max": P.maximum, "Min": P.minimum, "Sum": P.add}.items():
    READERS[_theirs] = lambda node, *xs, f=_function: functools.reduce(f, map(tensor, xs))

READERS["Mean"] = lambda node, *xs: functools.reduce(P.add, map(tensor, xs)) / len(xs)
READERS["Where"] = lambda node, which, x, y: P.where(tensor(which), tensor(x), tensor(y))


@reads("Div")
def _div(node: Node, x: Any, y: Any) -> Any:
    x, y = tensor(x), tensor(y)
    if not x.dtype.is_floating:  # toward zero
        down = P.floor_divide(x, y)
        rest = x - down * y
        return down + ((rest != 0) & ((x < 0) != (y < 0))).astype(x.dtype)
    return x / y


@reads("Mod")
def _mod(node: Node, x: Any, y: Any) -> Any:
    x, y = tensor(x), tensor(y)
    if not node.get("fmod", 0):
        return P.remainder(x, y)
    return x - (P.trunc(x / y) if x.dtype.is_floating else tensor(_div(node, x, y))) * y


@reads("Pow")
def _pow(node: Node, x: Any, y: Any) -> Any:
    x = tensor(x)
    if isinstance(y, np.ndarray) and y.size == 1:
        return P.pow(x, y.reshape(()).item()).astype(x.dtype)
    return P.pow(x, tensor(y).astype(x.dtype))


# ---- types ----


def dtype_of(number: int) -> str:
    return np.dtype(package().helper.tensor_dtype_to_np_dtype(number)).name


READERS["Cast"] = lambda node, x: tensor(x).astype(dtype_of(node.get("to")))
READERS["CastLike"] = lambda node, x, like: tensor(x).astype(tensor(like).dtype)


# ---- reductions ----


def _reduction(function: Any) -> Any:
    def read(node: Node, x: Any, axes: Any = None) -> Any:
        x = tensor(x)
        chosen = node.get("axes") if axes is None else [int(i) for i in elements(node, axes)]
        if not chosen and node.get("noop_with_empty_axes", 0):
            return x
        chosen = chosen or list(range(x.ndim))
        return function(x, chosen, bool(node.get("keepdims", 1))).astype(x.dtype) if chosen else x

    return read


for _theirs, _function in {
    "ReduceSum": lambda x, axes, keep: P.sum(x, axes, keepdim=keep), "ReduceMean": P.mean, "ReduceMax": P.max,
    "ReduceMin": P.min, "ReduceProd": P.prod, "ReduceLogSumExp": P.logsumexp,
    "ReduceL1": lambda x, axes, keep: P.sum(P.abs(x), axes, keepdim=keep),
    "ReduceL2": lambda x, axes, keep: P.sqrt(P.sum(x * x, axes, keepdim=keep)),
    "ReduceSumSquare": lambda x, axes, keep: P.sum(x * x, axes, keepdim=keep),
    "ReduceLogSum": lambda x, axes, keep: P.log(P.sum(x, axes, keepdim=keep)),
}.items():  # fmt: skip
    READERS[_theirs] = _reduction(_function)


def _arg(function: Any) -> Any:
    def read(node: Node, x: Any) -> Any:
        if node.get("select_last_index", 0):
            raise node.missing("select_last_index")
        return function(tensor(x), node.get("axis", 0), bool(node.get("keepdims", 1)))

    return read


READERS["ArgMax"], READERS["ArgMin"] = _arg(P.argmax), _arg(P.argmin)


@reads("CumSum")
def _cumsum(node: Node, x: Any, axis: Any) -> Any:
    x, (at,) = tensor(x), elements(node, axis)
    at = int(at)
    turned = P.flip(x, [at]) if node.get("reverse", 0) else x
    out = P.cumsum(turned, at)
    out = out - turned if node.get("exclusive", 0) else out
    return P.flip(out, [at]) if node.get("reverse", 0) else out


# ---- integers ----


def _along(scale: Any, x: Any, axis: int) -> Any:
    if scale.ndim == 0 or scale.ndim == 1 and scale.shape[0] == 1:
        return scale.reshape([])
    return scale.reshape([-1 if i == axis % x.ndim else 1 for i in range(x.ndim)])


@reads("DequantizeLinear")
def _dequantize(node: Node, x: Any, scale: Any, zero: Any = None) -> Any:
    if node.get("block_size", 0):
        raise node.missing("blocks")
    x, scale = tensor(x), tensor(scale)
    axis = node.get("axis", 1)
    wide = (
        x.astype("float32") if zero is None else x.astype("float32") - _along(tensor(zero), x, axis).astype("float32")
    )
    return (wide * _along(scale, x, axis).astype("float32")).astype(scale.dtype)


_RANGES = {"int8": (-128, 127), "uint8": (0, 255), "int16": (-32768, 32767), "uint16": (0, 65535)}


@reads("QuantizeLinear")
def _quantize(node: Node, x: Any, scale: Any, zero: Any = None) -> Any:
    if node.get("block_size", 0):
        raise node.missing("blocks")
    x, axis = tensor(x), node.get("axis", 1)
    kind = "uint8" if zero is None else tensor(zero).dtype.name
    if kind not in _RANGES:
        raise node.missing(f"the type {kind}")
    whole = P.round(x / _along(tensor(scale), x, axis))
    if zero is not None:
        whole = whole + _along(tensor(zero), x, axis).astype(x.dtype)
    return P.clip(whole, *map(float, _RANGES[kind])).astype(kind)
