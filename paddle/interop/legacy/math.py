"""Elementwise arithmetic of two tensors, comparisons, products of matrices, sums along an axis."""

from __future__ import annotations

from collections.abc import Callable

import paddle
from paddle.nn import functional as F

from .activation import fused_activation
from .call import TRANSLATORS, Call, constant, number, translates


def aligned(x, y, axis: int) -> tuple:
    """Two tensors with the axes of the one with fewer put where `axis` says, for plain broadcasting."""
    if axis == -1 or len(x.shape) == len(y.shape):
        return x, y
    if len(x.shape) < len(y.shape):
        y, x = aligned(y, x, axis)
        return x, y
    shape = list(y.shape)
    axis += len(x.shape) + 1 if axis < 0 else 0
    while shape and shape[-1] == 1 and axis + len(shape) > len(x.shape):
        shape.pop()
    after = len(x.shape) - axis - len(shape)
    if after > 0 or len(shape) != len(y.shape):
        y = y.reshape([*shape, *[1] * after])
    return x, y


def _quotient(x, y):
    """Division; of integers as C does it, towards zero."""
    if x.is_floating_point() or x.is_complex():
        return x / y
    return paddle.sign(x) * paddle.sign(y) * paddle.floor_divide(paddle.abs(x), paddle.abs(y))


BINARY: dict[str, Callable] = {
    "elementwise_add": paddle.add,
    "elementwise_sub": paddle.subtract,
    "elementwise_mul": paddle.multiply,
    "elementwise_div": _quotient,
    "elementwise_max": paddle.maximum,
    "elementwise_min": paddle.minimum,
    "elementwise_pow": paddle.pow,
    "elementwise_mod": paddle.mod,
    "elementwise_floordiv": paddle.floor_divide,
    "elementwise_fmax": paddle.fmax,
    "elementwise_fmin": paddle.fmin,
    "elementwise_heaviside": paddle.heaviside,
    "minus": paddle.subtract,
    "equal": paddle.equal,
    "not_equal": paddle.not_equal,
    "less_than": paddle.less_than,
    "less_equal": paddle.less_equal,
    "greater_than": paddle.greater_than,
    "greater_equal": paddle.greater_equal,
    "logical_and": paddle.logical_and,
    "logical_or": paddle.logical_or,
    "logical_xor": paddle.logical_xor,
    "bitwise_and": paddle.bitwise_and,
    "bitwise_or": paddle.bitwise_or,
    "bitwise_xor": paddle.bitwise_xor,
    "atan2": paddle.atan2,
}


def binary(op: Call, kind: str):
    x, y = (op["X1"], op["X2"]) if kind == "atan2" else (op["X"], op["Y"])
    return BINARY[kind](*aligned(x, y, op.attr("axis", -1)))


for _kind in BINARY:
    TRANSLATORS[_kind] = lambda op, kind=_kind: binary(op, kind)
for _kind in ("add", "sub", "mul", "div"):  # with an activation behind it
    TRANSLATORS[f"fused_elementwise_{_kind}"] = lambda op, kind=f"elementwise_{_kind}": fused_activation(
        op.attr("fuse_activation", ""), binary(op, kind), op.attr("fuse_alpha", 0.0), op.attr("fuse_beta", 0.0)
    )


@translates("fused_elemwise_activation", "fused_elemwise_add_activation")
def fused_elemwise_activation(op):
    """f(g(x, y)) or f(x, g(y)), f and g named by functor_list."""
    outer, inner = (f.split(",")[0] for f in op.attr("functor_list"))
    x, y, axis = op["X"], op["Y"], op.attr("axis", -1)

    def one(name, value):
        return value * op.attr("scale", 0.0) if name == "scale" else fused_activation(name, value)

    if inner in BINARY:
        middle = BINARY[inner](*aligned(x, y, axis))
        return {"Out": one(outer, middle), "IntermediateOut": middle}
    middle = one(inner, y)
    return {"Out": BINARY[outer](*aligned(x, middle, axis)), "IntermediateOut": middle}


@translates("scale")
def scale(op):
    x = op["X"]
    factor = op["ScaleTensor"] if op.has("ScaleTensor") else op.attr("scale", 1.0)
    bias = op["BiasTensor"] if op.has("BiasTensor") else op.attr("bias", 0.0)
    if op.has("ScaleTensor") or op.has("BiasTensor"):
        factor, bias = (v.reshape([]).cast(x.dtype) if hasattr(v, "reshape") else v for v in (factor, bias))
        return x * factor + bias if op.attr("bias_after_scale", True) else (x + bias) * factor
    if not x.is_floating_point() and not x.is_complex() and float(factor).is_integer() and float(bias).is_integer():
        factor, bias = int(factor), int(bias)
    return paddle.scale(x, factor, bias, bool(op.attr("bias_after_scale", True)))


@translates("sum")
def sum_(op):
    total, *rest = op.list("X")
    for x in rest:
        total = total + x
    return total


@translates("increment")
def increment(op):
    x, step = op["X"], op.attr("step", 1.0)
    return x + (step if x.is_floating_point() else int(step))


@translates("clip")
def clip(op):
    low = number(op["Min"]) if op.has("Min") else number(op.attr("min"))
    high = number(op["Max"]) if op.has("Max") else number(op.attr("max"))
    x = op["X"]
    if not x.is_floating_point():
        low, high = (int(v) if isinstance(v, float) and abs(v) < 2**62 else v for v in (low, high))
    return paddle.clip(x, low, high)


@translates("clip_by_norm")
def clip_by_norm(op):
    x, most = op["X"], op.attr("max_norm")
    norm = paddle.sqrt(paddle.sum(x * x))
    return x * paddle.where(norm > most, most / norm, paddle.ones_like(norm))


# ---- products ----


@translates("matmul_v2")
def matmul_v2(op):
    return paddle.matmul(op["X"], op["Y"], bool(op.attr("trans_x", False)), bool(op.attr("trans_y", False)))


@translates("matmul", "fused_matmul")
def matmul(op):
    """The old product has a factor; fused ones reshape and transpose around it."""
    old = op.type == "matmul"
    x, y = (_arranged(op, op[slot], slot) for slot in ("X", "Y"))
    flags = ("transpose_X", "transpose_Y") if old else ("trans_x", "trans_y")
    out = paddle.matmul(x, y, *(bool(op.attr(f, False)) for f in flags))
    alpha = op.attr("alpha" if old else "matmul_alpha", 1.0)
    out = out if alpha == 1.0 else out * alpha
    if op.has("ResidualData"):
        out = out + op["ResidualData"]
    if not old:
        out = fused_activation(
            op.attr("fuse_activation", ""), out, op.attr("fuse_alpha", 0.0), op.attr("fuse_beta", 0.0)
        )
        out = out * op.attr("fused_output_scale", 1.0) if op.attr("fused_output_scale", 1.0) != 1.0 else out
    if op.attr("fused_transpose_Out", []):
        out = out.transpose(op.attr("fused_transpose_Out"))
    if op.attr("fused_reshape_Out", []):
        out = out.reshape(op.attr("fused_reshape_Out"))
    return out


def _arranged(op: Call, x, slot: str):
    if op.attr(f"fused_reshape_{slot}", []):
        x = x.reshape(op.attr(f"fused_reshape_{slot}"))
    if op.attr(f"fused_transpose_{slot}", []):
        x = x.transpose(op.attr(f"fused_transpose_{slot}"))
    return x


def product(x, w, x_axes: int, w_axes: int = 1):
    """The product of two tensors seen as matrices: the first `x_axes` axes of x are rows, likewise of w."""
    inner = 1
    for n in w.shape[:w_axes]:
        inner = inner * n
    if len(x.shape) != x_axes + 1:
        x = x.reshape([*[0] * x_axes, inner])
    if len(w.shape) == 2 and w_axes == 1:
        return paddle.matmul(x, w)
    out = paddle.matmul(x, w.reshape([inner, -1]))
    return out.reshape([*[0] * x_axes, *w.shape[w_axes:]])


@translates("mul")
def mul(op):
    return product(op["X"], op["Y"], op.attr("x_num_col_dims", 1), op.attr("y_num_col_dims", 1))


@translates("bmm")
def bmm(op):
    return paddle.bmm(op["X"], op["Y"])


@translates("dot")
def dot(op):
    return paddle.dot(op["X"], op["Y"])


@translates("mv")
def mv(op):
    return paddle.mv(op["X"], op["Vec"])


@translates("addmm")
def addmm(op):
    return paddle.addmm(op["Input"], op["X"], op["Y"], op.attr("Beta", 1.0), op.attr("Alpha", 1.0))


@translates("kron")
def kron(op):
    return paddle.kron(op["X"], op["Y"])


@translates("cross")
def cross(op):
    return paddle.cross(op["X"], op["Y"], op.attr("dim", 9))


@translates("einsum")
def einsum(op):
    return paddle.einsum(op.attr("equation"), *op.list("Operands"))


@translates("bilinear_tensor_product")
def bilinear_tensor_product(op):
    return F.bilinear(op["X"], op["Y"], op["Weight"], op.get("Bias"))


@translates("inverse")
def inverse(op):
    return {"Output": paddle.inverse(op["Input"])}


@translates("cholesky")
def cholesky(op):
    return paddle.linalg.cholesky(op["X"], bool(op.attr("upper", False)))


@translates("determinant")
def determinant(op):
    return paddle.linalg.det(op["Input"])


@translates("matrix_power")
def matrix_power(op):
    return paddle.linalg.matrix_power(op["X"], op.attr("n"))


@translates("cos_sim")
def cos_sim(op):
    x, y = op["X"], op["Y"]
    x_norm, y_norm = (paddle.sqrt(paddle.sum(v * v, -1, keepdim=True)) for v in (x, y))
    return {"Out": paddle.sum(x * y, -1, keepdim=True) / (x_norm * y_norm), "XNorm": x_norm, "YNorm": y_norm}


# ---- along an axis ----


@translates("cumsum")
def cumsum(op):
    x = op["X"]
    if op.attr("flatten", False):
        x = x.flatten()
    axis = number(op.attr("axis", -1))
    if op.attr("reverse", False):
        x = paddle.flip(x, [axis])
    out = paddle.cumsum(x, axis, dtype=x.dtype)
    out = out - x if op.attr("exclusive", False) else out
    return paddle.flip(out, [axis]) if op.attr("reverse", False) else out


@translates("cumprod")
def cumprod(op):
    if op.attr("exclusive", False) or op.attr("reverse", False):
        raise NotImplementedError("cumprod: exclusive and reverse")
    return paddle.cumprod(op["X"], op.attr("dim"))


@translates("logcumsumexp")
def logcumsumexp(op):
    if op.attr("exclusive", False) or op.attr("reverse", False):
        raise NotImplementedError("logcumsumexp: exclusive and reverse")
    return paddle.logcumsumexp(op["X"], None if op.attr("flatten", False) else op.attr("axis", -1))


# ---- whole tensors compared ----


@translates("allclose", "isclose")
def allclose(op):
    tolerances = []
    for slot, name, default in (("Rtol", "rtol", 1e-5), ("Atol", "atol", 1e-8)):
        given = constant(op[slot]) if op.has(slot) else op.attr(name, default)
        if given is None:
            raise NotImplementedError(f"{op.type}: {slot} depends on data")
        tolerances.append(float(given))
    function = paddle.allclose if op.type == "allclose" else paddle.isclose
    return function(op["Input"], op["Other"], *tolerances, bool(op.attr("equal_nan", False)))


@translates("equal_all")
def equal_all(op):
    return paddle.equal_all(op["X"], op["Y"])


@translates("isfinite")
def isfinite(op):
    return paddle.all(paddle.isfinite(op["X"])).reshape([1])


@translates("isnan")
def isnan(op):
    return paddle.any(paddle.isnan(op["X"])).reshape([1])


@translates("isinf")
def isinf(op):
    return paddle.any(paddle.isinf(op["X"])).reshape([1])


@translates("is_empty")
def is_empty(op):
    return paddle.is_empty(op["X"])


@translates("lerp")
def lerp(op):
    return paddle.lerp(op["X"], op["Y"], op["Weight"])


@translates("dist")
def dist(op):
    return paddle.dist(op["X"], op["Y"], op.attr("p", 2.0))
