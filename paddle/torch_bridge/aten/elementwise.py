"""Elementwise operators of ATen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import paddle as P

from ...engine.tensor import Tensor
from ...nn import functional as F
from .table import OPERATORS, aten

# Operators of one tensor that have our name.
_SAME = (
    "abs acos acosh asin asinh atan atanh ceil cos cosh digamma erf erfinv exp expm1 floor isfinite isinf isnan lgamma log "
    "log10 log1p log2 neg reciprocal rsqrt sigmoid sign sin sinh sqrt square tan tanh trunc logical_not bitwise_not"
).split()
_ACTIVATIONS = "relu relu6 silu mish hardswish log_sigmoid softsign tanhshrink".split()
_TWO = {
    "atan2": "atan2", "maximum": "maximum", "minimum": "minimum", "fmax": "fmax", "fmin": "fmin",
    "logical_and": "logical_and", "logical_or": "logical_or", "logical_xor": "logical_xor",
    "bitwise_and": "bitwise_and", "bitwise_or": "bitwise_or", "bitwise_xor": "bitwise_xor",
    "__and__": "bitwise_and", "__or__": "bitwise_or", "__xor__": "bitwise_xor",
    "eq": "equal", "ne": "not_equal", "lt": "less_than", "le": "less_equal", "gt": "greater_than", "ge": "greater_equal",
}  # fmt: skip


def _one(function: Callable) -> Callable:
    return lambda self: function(self)


for _name in _SAME:
    OPERATORS[_name] = _one(getattr(P, _name, None) or getattr(F, _name))
for _name in _ACTIVATIONS:
    OPERATORS[_name] = _one(getattr(F, _name))
OPERATORS["negative"] = OPERATORS["neg"]


def pair(x: Any, y: Any) -> tuple:
    """Two operands as tensors of one type; a number takes the type of the tensor where that can hold it."""
    if not isinstance(x, Tensor):
        y, x = pair(y, x)
        return x, y
    if not isinstance(y, Tensor):
        kind = x.dtype.name
        whole = kind.startswith(("int", "uint")) or kind == "bool"
        if whole and isinstance(y, float):
            x, kind = x.astype("float32"), "float32"
        elif kind == "bool" and not isinstance(y, bool):
            x, kind = x.astype("int64"), "int64"
        return x, P.full([], y, kind) if isinstance(y, (bool, int, float, complex)) else P.to_tensor(y, kind)
    if x.dtype == y.dtype:
        return x, y
    kind = result_type(x, y)
    return x.astype(kind), y.astype(kind)


_ORDER = "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128".split()


def result_type(x: Tensor, y: Tensor) -> str:
    """The type of PyTorch's promotion: a tensor without axes gives way to one with axes of the same kind."""

    def kind(n: str) -> int:
        return 0 if n == "bool" else 1 if "int" in n else 2 if "float" in n else 3

    a, b = x.dtype.name, y.dtype.name
    if bool(x.ndim) != bool(y.ndim):
        strong, weak = (a, b) if x.ndim else (b, a)
        if kind(weak) <= kind(strong):
            return strong
    if {a, b} == {"float16", "bfloat16"}:
        return "float32"
    if {a, b} in ({"uint8", "int8"},):
        return "int16"
    return max(a, b, key=_ORDER.index)


def _two(function: Callable) -> Callable:
    return lambda self, other: function(*pair(self, other))


for _name, _ours in _TWO.items():
    OPERATORS[_name] = _two(getattr(P, _ours))


def _is_number(x: Any) -> bool:
    return isinstance(x, (int, float)) and not isinstance(x, bool)


@aten("add")
def add(self, other, alpha=1):
    if _is_number(other) and isinstance(self, Tensor) and self.is_floating_point():
        return self + other * alpha
    x, y = pair(self, other)
    return P.add(x, y if alpha == 1 else y * alpha) if x.dtype.name != "bool" else P.logical_or(x, y)


@aten("sub", "subtract")
def sub(self, other, alpha=1):
    if _is_number(other) and isinstance(self, Tensor) and self.is_floating_point():
        return self - other * alpha
    x, y = pair(self, other)
    return P.subtract(x, y if alpha == 1 else y * alpha)


@aten("rsub")
def rsub(self, other, alpha=1):
    return sub(other, self, alpha)


@aten("mul", "multiply")
def mul(self, other):
    if _is_number(other) and isinstance(self, Tensor) and self.is_floating_point():
        return self * other
    x, y = pair(self, other)
    return P.multiply(x, y) if x.dtype.name != "bool" else P.logical_and(x, y)


def _floating(x: Tensor) -> Tensor:
    return x if x.is_floating_point() or "complex" in x.dtype.name else x.astype("float32")


@aten("div", "divide", "true_divide")
def div(self, other, rounding_mode=None):
    x, y = pair(self, other)
    if rounding_mode == "floor":
        return P.floor_divide(x, y)
    if rounding_mode == "trunc":
        if x.is_floating_point():
            return P.trunc(P.divide(x, y))
        quotient = P.floor_divide(P.abs(x), P.abs(y))
        return quotient * P.sign(x) * P.sign(y)
    return P.divide(_floating(x), _floating(y))


@aten("floor_divide")
def floor_divide(self, other):
    return P.floor_divide(*pair(self, other))


@aten("remainder")
def remainder(self, other):
    return P.remainder(*pair(self, other))


@aten("fmod")
def fmod(self, other):
    x, y = pair(self, other)
    return x - y * div(x, y, "trunc")


@aten("pow")
def power(self, exponent):
    if isinstance(self, Tensor) and _is_number(exponent) and self.is_floating_point():
        return P.pow(self, exponent)
    return P.pow(*pair(self, exponent))


@aten("addcmul")
def addcmul(self, tensor1, tensor2, value=1):
    return self + tensor1 * tensor2 * value


@aten("addcdiv")
def addcdiv(self, tensor1, tensor2, value=1):
    return self + tensor1 / tensor2 * value


@aten("lerp")
def lerp(self, end, weight):
    return self + (end - self) * weight


@aten("clamp", "clip")
def clamp(self, min=None, max=None):
    if isinstance(min, Tensor) or isinstance(max, Tensor):
        x = self if min is None else P.maximum(*pair(self, min))
        return x if max is None else P.minimum(*pair(x, max))
    if any(isinstance(b, float) for b in (min, max)) and not self.is_floating_point():
        self = self.astype("float32")
    return P.clip(self, min, max)


@aten("clamp_min")
def clamp_min(self, min):
    return clamp(self, min)


@aten("clamp_max")
def clamp_max(self, max):
    return clamp(self, None, max)


@aten("round")
def rounded(self, decimals=0):
    return P.round(self) if not decimals else P.round(self * 10**decimals) / 10**decimals


@aten("where")
def where(condition, self, other):
    x, y = (
        pair(self, other)
        if isinstance(self, Tensor) or isinstance(other, Tensor)
        else (P.to_tensor(self), P.to_tensor(other))
    )
    return P.where(condition, x, y)


@aten("masked_fill")
def masked_fill(self, mask, value):
    if not isinstance(value, Tensor):
        value = P.full([], value, self.dtype)
    return P.where(mask, value.astype(self.dtype), self)


@aten("exp2")
def exp2(self):
    return P.exp(self * 0.6931471805599453)


@aten("frac")
def frac(self):
    return self - P.trunc(self)


@aten("sgn")
def sgn(self):
    return P.sign(self)


@aten("erfc")
def erfc(self):
    return 1 - P.erf(self)


@aten("logit")
def logit(self, eps=None):
    return P.logit(self, eps)


@aten("nan_to_num")
def nan_to_num(self, nan=None, posinf=None, neginf=None):
    return P.nan_to_num(self, 0.0 if nan is None else nan, posinf, neginf)


@aten("gelu")
def gelu(self, approximate="none"):
    return F.gelu(self, approximate == "tanh")


@aten("leaky_relu")
def leaky_relu(self, negative_slope=0.01):
    return F.leaky_relu(self, negative_slope)


@aten("elu")
def elu(self, alpha=1.0, scale=1.0, input_scale=1.0):
    return F.elu(self * input_scale if input_scale != 1 else self, alpha) * scale


@aten("celu")
def celu(self, alpha=1.0):
    return F.celu(self, alpha)


@aten("selu")
def selu(self):
    return F.selu(self)


@aten("softplus")
def softplus(self, beta=1, threshold=20):
    return F.softplus(self, beta, threshold)


@aten("hardtanh")
def hardtanh(self, min_val=-1, max_val=1):
    return F.hardtanh(self, min_val, max_val)


@aten("hardsigmoid")
def hardsigmoid(self):
    return F.hardsigmoid(self, slope=1 / 6, offset=0.5)


@aten("threshold")
def threshold(self, threshold, value):
    return P.where(self > threshold, self, P.full([], value, self.dtype))


@aten("hardshrink")
def hardshrink(self, lambd=0.5):
    return F.hardshrink(self, lambd)


@aten("softshrink")
def softshrink(self, lambd=0.5):
    return F.softshrink(self, lambd)


@aten("prelu", "_prelu_kernel")
def prelu(self, weight):
    if weight.ndim == 1 and weight.shape[0] > 1:
        weight = weight.reshape([1, -1] + [1] * (self.ndim - 2))
    return P.maximum(self, P.zeros_like(self)) + weight * P.minimum(self, P.zeros_like(self))


@aten("glu")
def glu(self, dim=-1):
    return F.glu(self, dim)


@aten("softmax", "_softmax", "special_softmax")
def softmax(self, dim, dtype=None, half_to_float=False):
    return F.softmax(self if dtype is None else self.astype(dtype), dim)


@aten("log_softmax", "_log_softmax")
def log_softmax(self, dim, dtype=None, half_to_float=False):
    return F.log_softmax(self if dtype is None else self.astype(dtype), dim)


@aten("_to_copy", "to")
def to(self, dtype=None, copy=False):
    return self if dtype is None else self.astype(dtype)


@aten("type_as", "to.other")
def to_other(self, other, copy=False):
    return self.astype(other.dtype)


@aten("clone", "contiguous", "detach_copy", "alias", "lift_fresh_copy", "lift_fresh", "alias_copy")
def clone(self):
    return self


@aten("detach", "detach_")
def detach(self):
    return self.detach()


@aten("copy")
def copy(self, src, non_blocking=False):
    return P.broadcast_to(src.astype(self.dtype), self.shape) if src.shape != self.shape else src.astype(self.dtype)


@aten("fill")
def fill(self, value):
    return P.zeros_like(self) + value if isinstance(value, Tensor) else P.full_like(self, value)


@aten("zero")
def zero(self):
    return P.zeros_like(self)


@aten("real")
def real(self):
    return P.real(self)


@aten("imag")
def imag(self):
    return P.imag(self)


@aten("view_as_real")
def view_as_real(self):
    return P.as_real(self)


@aten("view_as_complex")
def view_as_complex(self):
    return P.as_complex(self)


@aten("complex")
def complex_(real, imag):
    return P.complex(real, imag)


@aten("polar")
def polar(abs, angle):
    return P.complex(abs * P.cos(angle), abs * P.sin(angle))


@aten("__lshift__", "bitwise_left_shift")
def shift_left(self, other):
    return P.bitwise_left_shift(*pair(self, other))


@aten("__rshift__", "bitwise_right_shift")
def shift_right(self, other):
    return P.bitwise_right_shift(*pair(self, other))


@aten("bucketize")
def bucketize(self, boundaries, out_int32=False, right=False):
    return P.bucketize(self, boundaries, out_int32=out_int32, right=right)


@aten("fft_fftn", "fft_fft2")
def fftn(self, s=None, dim=None, norm=None):
    return P.fft.fftn(self, s, dim, norm or "backward")


@aten("fft_ifftn", "fft_ifft2")
def ifftn(self, s=None, dim=None, norm=None):
    return P.fft.ifftn(self, s, dim, norm or "backward")


@aten("fft_rfft2", "fft_rfftn")
def rfftn(self, s=None, dim=None, norm=None):
    return P.fft.rfftn(self, s, dim, norm or "backward")


@aten("fft_irfft2", "fft_irfftn")
def irfftn(self, s=None, dim=None, norm=None):
    return P.fft.irfftn(self, s, dim, norm or "backward")


@aten("fft_fft")
def fft(self, n=None, dim=-1, norm=None):
    return P.fft.fft(self, n, dim, norm or "backward")


@aten("fft_rfft")
def rfft(self, n=None, dim=-1, norm=None):
    return P.fft.rfft(self, n, dim, norm or "backward")


@aten("fft_irfft")
def irfft(self, n=None, dim=-1, norm=None):
    return P.fft.irfft(self, n, dim, norm or "backward")
