"""Translators of elementwise operators, reductions and scans of official model files."""

from __future__ import annotations

from typing import Any

import numpy as np

import paddle as P

from ...engine import errors
from .reading import READERS, Call, reads

F = P.nn.functional

_SAME_NAME = """abs acos acosh angle asin asinh atan atan2 atanh bitwise_and bitwise_not bitwise_or bitwise_xor ceil conj copysign
    cos cosh digamma erf erfinv exp expm1 floor fmax fmin gammaincc gammaln heaviside i0 i0e i1 i1e isfinite isinf isnan
    lgamma log log10 log1p log2 logical_and logical_not logical_or logical_xor maximum minimum nextafter reciprocal
    rsqrt sign sin sinh sqrt square tan tanh trunc equal not_equal less_than less_equal greater_than greater_equal real
    imag as_complex as_real equal_all""".split()


def _direct(function: Any) -> Any:
    def translate(call: Call) -> Any:
        return function(*[getattr(call, n) for n in call.interface.operands])

    return translate


for _name in _SAME_NAME:
    READERS[_name] = _direct(getattr(P, _name))
for _name in "relu relu6 sigmoid silu softsign mish tanhshrink swish".split():
    READERS[{"tanhshrink": "tanh_shrink"}.get(_name, _name)] = _direct(getattr(F, _name))
READERS["logsigmoid"] = _direct(F.log_sigmoid)
for _name in "assign share_data memcpy_d2h memcpy_h2d npu_identity".split():
    READERS[_name] = lambda call: getattr(call, call.interface.operands[0])
READERS["complex"] = lambda call: P.complex(call.real, call.imag)


def _arithmetic(function: Any) -> Any:
    """Operands of different ranks once stood at an axis; here only the last ones."""

    def translate(call: Call) -> Any:
        return function(call.x, call.y)

    return translate


for _name, _function in dict(
    add=P.add, subtract=P.subtract, multiply=P.multiply, divide=P.divide, floor_divide=P.floor_divide,
    remainder=P.remainder, elementwise_pow=P.pow, dot=P.dot, kron=P.kron,
).items():  # fmt: skip
    READERS[_name] = _arithmetic(_function)
for _name, _function in dict(add=P.add, sub=P.subtract, mul=P.multiply, div=P.divide).items():
    READERS["fused_elementwise_" + _name] = lambda call, f=_function: _fused_elementwise(call, f)


def _activation(name: str, x: Any, alpha: float = 0.01) -> Any:
    """The activation that a fused operator names."""
    if name in ("", "identity", "none"):
        return x
    if name == "leaky_relu":
        return F.leaky_relu(x, alpha)
    function = getattr(F, name, None) if name in ("relu", "relu6", "sigmoid", "silu", "swish", "gelu", "mish") else None
    function = P.tanh if name == "tanh" else function
    if function is None:
        raise errors.NotImplemented_(f"official model files: the activation {name!r} in a fused operator")
    return function(x)


def _fused_elementwise(call: Call, function: Any) -> Any:
    out = function(call.x, call.y)
    return _activation(call.fuse_activation, out, call.fuse_alpha) if "fuse_activation" in call.node.attributes else out


@reads("pow")
def _pow(call: Call) -> Any:
    return P.pow(call.x, call.y)


READERS["softplus"] = lambda c: F.softplus(c.x, c.beta, c.threshold)
READERS["softshrink"] = lambda c: F.softshrink(c.x, c.threshold)
READERS["hardshrink"] = lambda c: F.hardshrink(c.x, c.threshold)
READERS["hardsigmoid"] = lambda c: F.hardsigmoid(c.x, c.slope, c.offset)
READERS["hardswish"] = lambda c: F.hardswish(c.x)
READERS["hardtanh"] = lambda c: F.hardtanh(c.x, c.t_min, c.t_max)
READERS["elu"] = lambda c: F.elu(c.x, c.alpha)
READERS["celu"] = lambda c: F.celu(c.x, c.alpha)
READERS["selu"] = lambda c: F.selu(c.x, c.scale, c.alpha)
READERS["gelu"] = lambda c: F.gelu(c.x, c.approximate)
READERS["leaky_relu"] = lambda c: F.leaky_relu(c.x, c.negative_slope)
READERS["thresholded_relu"] = lambda c: F.thresholded_relu(c.x, c.threshold, c.value)
READERS["stanh"] = lambda c: P.stanh(c.x, c.scale_a, c.scale_b)
READERS["logit"] = lambda c: P.logit(c.x, c.eps or None)
READERS["prelu"] = lambda c: F.prelu(c.x, c.alpha, c.data_format)
READERS["rrelu"] = lambda c: (F.rrelu(c.x, c.lower, c.upper, training=not c.is_test), None)
READERS["maxout"] = lambda c: F.maxout(c.x, c.groups, c.axis)
READERS["polygamma"] = lambda c: P.polygamma(c.x, c.n)
READERS["round"] = lambda c: P.round(c.x, c.decimals)
READERS["rint"] = lambda c: P.round(c.x)
READERS["bitwise_left_shift"] = lambda c: P.bitwise_left_shift(c.x, c.y, c.is_arithmetic)
READERS["bitwise_right_shift"] = lambda c: P.bitwise_right_shift(c.x, c.y, c.is_arithmetic)
READERS["lerp"] = lambda c: P.lerp(c.x, c.y, c.weight)
READERS["where"] = lambda c: P.where(c.condition, c.x, c.y)
READERS["add_n"] = lambda c: P.add_n(c.inputs)
READERS["increment"] = lambda c: c.x + P.full([], c.value, c.x.dtype)
READERS["swiglu"] = lambda c: P.incubate.nn.functional.swiglu(c.x, c.y)
READERS["isclose"] = lambda c: P.isclose(c.x, c.y, c.number("rtol"), c.number("atol"), c.equal_nan)
READERS["allclose"] = lambda c: P.allclose(c.x, c.y, c.number("rtol"), c.number("atol"), c.equal_nan)
READERS["trunc_divide"] = lambda c: P.trunc(P.divide(c.x, c.y)).astype(c.x.dtype)
READERS["check_numerics"] = lambda c: (None, None)


@reads("cast")
def _cast(call: Call) -> Any:
    dtype = call.dtype()
    return call.x if dtype is None else call.x.astype(dtype)


@reads("scale")
def _scale(call: Call) -> Any:
    x, scale, bias = call.x, call.number("scale"), call.bias
    if x.dtype.name.startswith(("int", "uint")):  # in the type of x, the factor cut to an integer
        scale, bias = int(scale) if isinstance(scale, float) else scale, int(bias)
    return P.scale(x, scale, bias, call.bias_after_scale)


@reads("clip")
def _clip(call: Call) -> Any:
    x, bounds = call.x, [call.number("min"), call.number("max")]
    if x.dtype.name.startswith(("int", "uint")):
        limits = np.iinfo(x.dtype.name)
        bounds = [
            int(min(max(b, float(limits.min)), float(limits.max))) if isinstance(b, float) and b == b else b
            for b in bounds
        ]
        bounds = [min(max(b, int(limits.min)), int(limits.max)) if type(b) is int else b for b in bounds]
    return P.clip(x, *bounds)


# ---- reductions ----


def _axes(call: Call, name: str = "axis") -> list | None:
    """The axes of a reduction, None for all."""
    return call.fixed(name) or None if name in call.slots or name in call.interface.attributes else None


@reads("sum", "prod", "mean", "max", "min", "amax", "amin", "any", "all", "logsumexp", "nansum")
def _reduce(call: Call) -> Any:
    name = call.op
    axes = _axes(call, call.interface.operands[1] if len(call.interface.operands) > 1 else "axis")
    if "reduce_all" in call.interface.attributes and call.reduce_all:
        axes = None
    keepdim = call.attribute("keep_dim" if "keep_dim" in call.interface.attributes else "keepdim")
    extra = {}
    if "dtype" in call.interface.attributes and call.dtype() is not None:
        extra["dtype"] = call.dtype()
    if name in ("any", "all") and call.x.dtype.name != "bool":
        return getattr(P, name)(call.x.astype("bool"), axes, keepdim)
    return getattr(P, name)(call.x, axis=axes, keepdim=keepdim, **extra)


READERS["mean_all"] = lambda c: P.mean(c.x)
READERS["std"] = lambda c: P.std(c.x, _axes(c), c.unbiased and c.correction != 0, c.keepdim)
READERS["var"] = lambda c: P.var(c.x, _axes(c), c.unbiased and c.correction != 0, c.keepdim)
READERS["frobenius_norm"] = lambda c: P.linalg.norm(c.x, "fro", None if c.reduce_all else _axes(c), c.keep_dim)
READERS["squared_l2_norm"] = lambda c: P.sum(P.square(c.x)).reshape([1])
READERS["l1_norm"] = lambda c: P.sum(P.abs(c.x))
READERS["dist"] = lambda c: P.dist(c.x, c.y, c.p)
READERS["trace"] = lambda c: P.trace(c.x, c.offset, c.axis1, c.axis2)


@reads("p_norm")
def _p_norm(call: Call) -> Any:
    axis = None if call.asvector else call.axis
    return P.linalg.norm(call.x, call.porder, axis, call.keepdim)


@reads("argmax", "argmin")
def _arg(call: Call) -> Any:
    axis = None if call.flatten else call.fixed("axis")[0]
    return getattr(P, call.op)(call.x, axis, call.keepdims, call.dtype() or "int64")


@reads("cumsum")
def _cumsum(call: Call) -> Any:
    x, axis = call.x, 0
    if call.flatten:
        x = x.flatten()
    else:
        axis = call.fixed("axis")[0]
    flipped = P.flip(x, [axis]) if call.reverse else x
    out = P.cumsum(flipped, axis)
    if call.exclusive:
        out = out - flipped
    return P.flip(out, [axis]) if call.reverse else out


@reads("cumprod")
def _cumprod(call: Call) -> Any:
    if call.exclusive or call.reverse:
        raise errors.NotImplemented_("official model files with cumprod that is exclusive or runs backwards")
    return P.cumprod(call.x, call.dim)


@reads("logcumsumexp")
def _logcumsumexp(call: Call) -> Any:
    if call.exclusive or call.reverse:
        raise errors.NotImplemented_("official model files with logcumsumexp that is exclusive or runs backwards")
    return P.logcumsumexp(call.x, None if call.flatten else call.axis)


READERS["cummax"] = lambda c: tuple(P.cummax(c.x, c.axis, c.dtype() or "int64"))
READERS["cummin"] = lambda c: tuple(P.cummin(c.x, c.axis, c.dtype() or "int64"))


def _middle(name: str) -> Any:
    def translate(call: Call) -> Any:
        axes = call.fixed("axis")
        axis = None if not axes else axes[0] if len(axes) == 1 else tuple(axes)
        out = getattr(P, name)(call.x, axis, call.keepdim, mode=call.mode)
        return tuple(out) if isinstance(out, (tuple, list)) else (out, None)

    return translate


READERS["median"] = _middle("median")
READERS["nanmedian"] = _middle("nanmedian")
READERS["mode"] = lambda c: tuple(P.mode(c.x, c.axis, c.keepdim))
READERS["kthvalue"] = lambda c: tuple(P.kthvalue(c.x, c.fixed("k")[0], c.axis, c.keepdim))
