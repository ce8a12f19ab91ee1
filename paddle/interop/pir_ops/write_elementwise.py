"""Writers of elementwise operators, reductions and scans."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

import paddle as P

from ...engine.value import Value
from .format import dtype_name
from .writing import COMPOSED, WRITERS, Ref, Writing, composes, writes

F = P.nn.functional

# ---- one operand ----

_UNARY = """abs acos acosh angle asin asinh atan atanh ceil conj cos cosh digamma erf erfinv exp expm1 floor gammaln i0 i0e
    i1 i1e lgamma log log10 log1p log2 reciprocal relu relu6 rsqrt sigmoid sign silu sin sinh softsign sqrt square tan tanh
    real imag as_complex as_real isfinite isinf isnan hardswish swish inverse det""".split()


def _floating(w: Writing, x: Any) -> Ref:
    """Integers as what our functions make of them."""
    ref = w.ref(x)
    result = w.results[0][0]
    return w.cast(ref, result) if ref.dtype.startswith(("int", "uint", "bool")) and result.startswith("float") else ref


def _unary(name: str) -> Any:
    return lambda w, a: w.op(name, _floating(w, next(iter(vars(a).values()))))


for _name in _UNARY:
    WRITERS[_name] = _unary(_name)
WRITERS["trunc"] = lambda w, a: w.op("trunc", a.input)
WRITERS["logical_not"] = lambda w, a: w.op("logical_not", a.x)
WRITERS["bitwise_not"] = lambda w, a: w.op("bitwise_not", a.x)
WRITERS["assign"] = lambda w, a: w.op("assign", next(iter(vars(a).values())))
WRITERS["stop_gradient"] = WRITERS["assign"]
WRITERS["log_sigmoid"] = lambda w, a: w.op("logsigmoid", a.x)
WRITERS["tanhshrink"] = lambda w, a: w.op("tanh_shrink", a.x)
WRITERS["round"] = lambda w, a: w.op("round", a.x, decimals=a.decimals)
WRITERS["cast"] = lambda w, a: [w.cast(a.x, w.results[0][0])] if _differs(w, a.x) else w.op("assign", a.x)
WRITERS["polygamma"] = lambda w, a: w.op("polygamma", a.x, n=a.n)
WRITERS["neg"] = lambda w, a: w.op("scale", a.x, w.full(-1.0, "float32", [1], "cpu"), bias=0.0, bias_after_scale=True)
WRITERS["mish"] = lambda w, a: w.op("mish", a.x, **{"lambda": 20.0})
WRITERS["elu"] = lambda w, a: w.op("elu", a.x, alpha=a.alpha)
WRITERS["celu"] = lambda w, a: w.op("celu", a.x, alpha=a.alpha)
WRITERS["selu"] = lambda w, a: w.op("selu", a.x, scale=a.scale, alpha=a.alpha)
WRITERS["gelu"] = lambda w, a: w.op("gelu", a.x, approximate=a.approximate)
WRITERS["leaky_relu"] = lambda w, a: w.op("leaky_relu", a.x, negative_slope=a.negative_slope)
WRITERS["softplus"] = lambda w, a: w.op("softplus", a.x, beta=a.beta, threshold=a.threshold)
WRITERS["softshrink"] = lambda w, a: w.op("softshrink", a.x, threshold=a.threshold)
WRITERS["hardshrink"] = lambda w, a: w.op("hardshrink", a.x, threshold=a.threshold)
WRITERS["hardsigmoid"] = lambda w, a: w.op("hardsigmoid", a.x, slope=a.slope, offset=a.offset)
WRITERS["hardtanh"] = lambda w, a: w.op("hardtanh", a.x, t_min=a.min, t_max=a.max)
WRITERS["thresholded_relu"] = lambda w, a: w.op("thresholded_relu", a.x, threshold=a.threshold, value=a.value)
WRITERS["stanh"] = lambda w, a: w.op("stanh", a.x, scale_a=a.scale_a, scale_b=a.scale_b)
WRITERS["logit"] = lambda w, a: w.op("logit", a.x, eps=a.eps or 0.0)
WRITERS["maxout"] = lambda w, a: w.op("maxout", a.x, groups=a.groups, axis=a.axis)
WRITERS["prelu"] = lambda w, a: w.op("prelu", a.x, a.weight, data_format=a.data_format, mode=_prelu_mode(w, a))


def _differs(w: Writing, x: Any) -> bool:
    return w.ref(x).dtype != w.results[0][0]


def _prelu_mode(w: Writing, a: SimpleNamespace) -> str:
    weight = w.ref(a.weight)
    return "all" if int(np.prod(weight.shape)) == 1 else "channel"


@writes("scale")
def _scale(w: Writing, a: SimpleNamespace) -> Any:
    x = w.ref(a.x)
    if isinstance(a.bias, Value):
        return NotImplemented
    scale = w.ref(a.scale, x.dtype) if isinstance(a.scale, Value) else w.full(float(a.scale), "float32", [1], "cpu")
    return w.op("scale", x, scale, bias=a.bias, bias_after_scale=a.bias_after_scale)


@composes("scale")
def _scale_by_tensors(x: Any, scale: Any, bias: Any, bias_after_scale: bool) -> Any:
    return x * scale + bias if bias_after_scale else (x + bias) * scale


@writes("clip")
def _clip(w: Writing, a: SimpleNamespace) -> Any:
    x = w.ref(a.x)
    kind = x.dtype
    low, high = (np.iinfo(kind).min, np.iinfo(kind).max) if kind.startswith(("int", "uint")) else (-np.inf, np.inf)
    bounds = []
    for given, default in ((a.min, low), (a.max, high)):
        value = default if given is None else given
        if isinstance(value, Value):
            bounds.append(w.reshape(w.ref(value, kind), [1]))
        else:
            bounds.append(
                w.full(float(value) if abs(value) < 2**53 else float(np.sign(value) * 2.0**62), kind, [1], "cpu")
            )
    return w.op("clip", x, *bounds)


# ---- two operands ----


def both(w: Writing, a: Any, b: Any, dtype: str) -> tuple[Ref, Ref]:
    return w.ref(a, dtype), w.ref(b, dtype)


def _arithmetic(name: str) -> Any:
    return lambda w, a: w.op(name, *both(w, a.x, a.y, w.results[0][0]))


for (
    _name
) in """add subtract multiply divide maximum minimum fmax fmin remainder floor_divide heaviside nextafter copysign
    bitwise_and bitwise_or bitwise_xor gammaincc dot""".split():
    WRITERS[_name] = _arithmetic(_name)


def _by_number(name: str, usual: Any) -> Any:
    """Sums and products of a float tensor and a number are one `scale`, as officially."""

    def write(w: Writing, a: SimpleNamespace) -> Any:
        dtype, shape = w.results[0]
        number = next((n for n in (a.x, a.y) if type(n) in (int, float)), None)
        if number is None or dtype not in ("float32", "float16", "bfloat16"):
            return usual(w, a)
        factor, bias = {
            "add": (1.0, number), "subtract": (1.0, -number) if a.y is number else (-1.0, number),
            "multiply": (number, 0.0),
        }[name]  # fmt: skip
        x = w.ref(a.y if a.x is number else a.x, dtype)
        if not np.isfinite([factor, bias]).all() or not np.isfinite(np.float32([factor, bias])).all():
            return usual(w, a)
        return w.op("scale", x, w.full(float(factor), "float32", [1], "cpu"), bias=bias, bias_after_scale=True)

    return write


for _name in "add subtract multiply".split():
    WRITERS[_name] = _by_number(_name, WRITERS[_name])
WRITERS["pow"] = _arithmetic("elementwise_pow")
WRITERS["kron"] = _arithmetic("kron")
WRITERS["bitwise_left_shift"] = lambda w, a: w.op(
    "bitwise_left_shift", *both(w, a.x, a.y, w.results[0][0]), is_arithmetic=True
)
WRITERS["bitwise_right_shift"] = lambda w, a: w.op(
    "bitwise_right_shift", *both(w, a.x, a.y, w.results[0][0]), is_arithmetic=a.is_arithmetic
)
WRITERS["integer_pow"] = lambda w, a: w.op("pow", w.ref(a.x, w.results[0][0]), y=a.n)


def common_dtype(w: Writing, a: Any, b: Any) -> str:
    """The type in which two operands are compared."""
    tensors = [w.ref(x) for x in (a, b) if not isinstance(x, (bool, int, float))]
    numbers = [x for x in (a, b) if isinstance(x, (bool, int, float))]
    kinds = [t.dtype for t in tensors]
    if len(kinds) == 2 and kinds[0] != kinds[1]:
        return dtype_name(np.promote_types(*kinds)) if "bfloat16" not in kinds else "float32"
    if numbers and isinstance(numbers[0], float) and kinds[0].startswith(("int", "uint", "bool")):
        return "float32"
    if numbers and kinds[0] == "bool" and not isinstance(numbers[0], bool):
        return "int64"
    return kinds[0]


def _comparison(name: str) -> Any:
    return lambda w, a: w.op(name, *both(w, a.x, a.y, common_dtype(w, a.x, a.y)))


for _name in "equal not_equal less_than less_equal greater_than greater_equal equal_all".split():
    WRITERS[_name] = _comparison(_name)
for _name in "logical_and logical_or logical_xor".split():
    WRITERS[_name] = lambda w, a, n=_name: w.op(n, w.ref(a.x), w.ref(a.y))


def _tolerances(w: Writing, a: SimpleNamespace) -> list[Ref]:
    return [w.ref(v, "float64") if isinstance(v, Value) else w.full(v, "float64", [1], "cpu") for v in (a.rtol, a.atol)]


WRITERS["isclose"] = lambda w, a: w.op("isclose", a.x, a.y, *_tolerances(w, a), equal_nan=a.equal_nan)
WRITERS["allclose"] = lambda w, a: w.op("allclose", a.x, a.y, *_tolerances(w, a), equal_nan=a.equal_nan)
WRITERS["lerp"] = lambda w, a: w.op("lerp", a.x, a.y, w.ref(a.weight, w.results[0][0]))
WRITERS["where"] = lambda w, a: w.op("where", a.condition, *both(w, a.x, a.y, w.results[0][0]))
WRITERS["add_n"] = lambda w, a: w.op("add_n", list(a.inputs))
WRITERS["complex"] = lambda w, a: w.op("complex", a.real, a.imag)


@writes("atan2")
def _atan2(w: Writing, a: SimpleNamespace) -> Any:
    x, y = both(w, a.x, a.y, w.results[0][0])
    return w.op("atan2", x, y) if x.ndim == y.ndim else NotImplemented


COMPOSED["atan2"] = lambda x, y: P.atan2(x + P.zeros_like(y), y + P.zeros_like(x))
COMPOSED["deg2rad"] = lambda x: x * (np.pi / 180)
COMPOSED["rad2deg"] = lambda x: x * (180 / np.pi)
COMPOSED["frac"] = lambda x: x - P.trunc(x)
COMPOSED["hypot"] = lambda x, y: P.sqrt(x * x + y * y)
COMPOSED["logaddexp"] = lambda x, y: P.maximum(x, y) + P.log1p(P.exp(-P.abs(x - y)))
COMPOSED["square_error_cost"] = lambda input, label: P.square(input - label)
COMPOSED["swiglu"] = lambda x, y=None: F.silu(x) * y if y is not None else _swiglu(x)


def _swiglu(x: Any) -> Any:
    a, b = P.split(x, 2, axis=-1)
    return F.silu(a) * b


@composes("sinc")
def _sinc(x: Any) -> Any:
    y = x * np.pi
    zero = y == 0
    return P.where(zero, P.ones_like(y), P.sin(y) / P.where(zero, P.ones_like(y), y))


@composes("signbit")
def _signbit(x: Any) -> Any:
    return x < 0  # the sign of -0.0 is lost


@composes("glu")
def _glu(x: Any, axis: int) -> Any:
    a, b = P.split(x, 2, axis=axis)
    return a * F.sigmoid(b)


@composes("nan_to_num")
def _nan_to_num(x: Any, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    limits = np.finfo(dtype_name(x.dtype) if dtype_name(x.dtype) != "bfloat16" else "float32")
    x = P.where(P.isnan(x), P.full_like(x, nan), x)
    high = float(limits.max) if posinf is None else posinf
    low = float(limits.min) if neginf is None else neginf
    infinite = P.isinf(x)
    return P.where(infinite, P.where(x > 0, P.full_like(x, high), P.full_like(x, low)), x)


# ---- reductions ----


def axes_of(a: SimpleNamespace, name: str = "axis") -> list:
    axis = getattr(a, name)
    return [] if axis is None else [axis] if isinstance(axis, int) else list(axis)


def _reduction(name: str, **extra: Any) -> Any:
    """With the axes as an operand."""

    def write(w: Writing, a: SimpleNamespace) -> Any:
        axes = axes_of(a)
        more = {"reduce_all": not axes} if "reduce_all" in extra else {}
        x = w.ref(a.x)
        if name in ("mean", "prod") and x.dtype != w.results[0][0]:
            x = w.cast(x, w.results[0][0])
        return w.op(name, x, w.ints(axes), keepdim=a.keepdim, **more)

    return write


for _name in "mean max min".split():
    WRITERS[_name] = _reduction(_name)
WRITERS["prod"] = _reduction("prod", reduce_all=None)
for _name in "amax amin all any".split():
    WRITERS[_name] = lambda w, a, n=_name: w.op(n, w.ref(a.x), axis=axes_of(a), keepdim=a.keepdim)


@writes("sum")
def _sum(w: Writing, a: SimpleNamespace) -> Any:
    x, result = w.ref(a.x), w.results[0][0]
    return w.op("sum", x, w.ints(axes_of(a)), dtype="" if x.dtype == result else result, keepdim=a.keepdim)


@composes("nansum")
def _nansum_composed(x: Any, axis: Any = None, keepdim: bool = False, **_: Any) -> Any:
    return P.sum(P.where(P.isnan(x), P.zeros_like(x), x), axis, keepdim=keepdim)


@composes("nanmean")
def _nanmean(x: Any, axis: Any = None, keepdim: bool = False) -> Any:
    absent = P.isnan(x)
    count = P.sum(P.logical_not(absent).astype(x.dtype), axis, keepdim=keepdim)
    return P.sum(P.where(absent, P.zeros_like(x), x), axis, keepdim=keepdim) / count


WRITERS["logsumexp"] = lambda w, a: w.op(
    "logsumexp", a.x, axis=axes_of(a), keepdim=a.keepdim, reduce_all=not axes_of(a)
)


@composes("var")
def _var(x: Any, axis: Any = None, correction: Any = 1, keepdim: bool = False) -> Any:
    d = x - P.mean(x, axis, True)
    axes = list(range(x.ndim)) if axis is None else [axis] if isinstance(axis, int) else list(axis)
    count: Any = 1
    for i in axes:
        count = count * x._raw.shape[i]
    total = P.sum(d * d, axis, keepdim=keepdim)
    return total / P.maximum(P.full([], count - correction, x.dtype), P.zeros([], x.dtype))


@composes("std")
def _std(x: Any, axis: Any = None, correction: Any = 1, keepdim: bool = False) -> Any:
    return P.sqrt(_var(x, axis, correction, keepdim))


@composes("count_nonzero")
def _count_nonzero(x: Any, axis: Any = None, keepdim: bool = False) -> Any:
    return P.sum((x != 0).astype("int64"), axis, keepdim=keepdim)


def _arg(name: str) -> Any:
    def write(w: Writing, a: SimpleNamespace) -> Any:
        axis = 0 if a.axis is None else a.axis
        return w.op(
            name, a.x, w.full(axis, "int64", [1], "cpu"), keepdims=a.keepdim, flatten=a.axis is None,
            dtype=w.results[0][0],
        )  # fmt: skip

    return write


WRITERS["argmax"] = _arg("argmax")
WRITERS["argmin"] = _arg("argmin")


@writes("cumsum")
def _cumsum(w: Writing, a: SimpleNamespace) -> Any:
    x = w.cast(a.x, w.results[0][0])
    axis = 0 if a.axis is None else a.axis
    return w.op("cumsum", x, w.full(axis, "int64", [1], "cpu"), flatten=a.axis is None)


WRITERS["cumprod"] = lambda w, a: w.op("cumprod", a.x, dim=a.dim, exclusive=False, reverse=False)
WRITERS["logcumsumexp"] = lambda w, a: w.op(
    "logcumsumexp", a.x, axis=a.axis or 0, flatten=a.axis is None, exclusive=False, reverse=False
)
WRITERS["cummax"] = lambda w, a: w.op("cummax", a.x, axis=a.axis, dtype=w.results[1][0])
WRITERS["cummin"] = lambda w, a: w.op("cummin", a.x, axis=a.axis, dtype=w.results[1][0])
WRITERS["mode"] = lambda w, a: w.op("mode", a.x, axis=a.axis, keepdim=a.keepdim)
WRITERS["kthvalue"] = lambda w, a: w.op("kthvalue", a.x, k=a.k, axis=a.axis, keepdim=a.keepdim)
WRITERS["trace"] = lambda w, a: w.op("trace", a.x, offset=a.offset, axis1=a.axis1, axis2=a.axis2)
WRITERS["dist"] = lambda w, a: w.op("dist", a.x, a.y, p=a.p)


@writes("median")
def _median(w: Writing, a: SimpleNamespace) -> Any:
    name = "nanmedian" if a.skip_nan else "median"
    out, index = w.results[0], ("int64", w.results[0][1])
    return w.op(name, a.x, results=[out, index], axis=axes_of(a), keepdim=a.keepdim, mode="avg")[:1]


@writes("p_norm")
def _p_norm(w: Writing, a: SimpleNamespace) -> Any:
    axes = axes_of(a)
    if len(axes) > 1 or not isinstance(a.p, (int, float)):
        return NotImplemented
    return w.op(
        "p_norm", a.x, porder=float(a.p), axis=axes[0] if axes else -1, epsilon=1e-12, keepdim=a.keepdim,
        asvector=not axes,
    )  # fmt: skip


@composes("p_norm")
def _p_norm_of_axes(x: Any, p: Any, axis: Any = None, keepdim: bool = False) -> Any:
    x = P.abs(x)
    if p == float("inf"):
        return P.max(x, axis, keepdim)
    return P.pow(P.sum(P.pow(x, p), axis, keepdim=keepdim), 1 / p)
