"""Functions of each stored value that keep zeros: the pattern stays."""

from __future__ import annotations

from collections.abc import Callable

from ..engine import errors
from ..engine.dtype import to_dtype
from ..engine.op import api
from ..ops import elementwise, math
from .creation import sparse_of
from .tensor import SparseTensor


def on_values(name: str, function: Callable, what: str, example: str, package: str = "paddle.sparse") -> Callable:
    """The public function that applies `function` to the stored values."""

    def apply(x):
        return sparse_of(name, x).like(function(x._values))

    apply.__name__ = apply.__qualname__ = name
    apply.__doc__ = f"""{what} of each stored value; the pattern stays.

    Args:
        x: a sparse tensor, COO or CSR.

    Raises:
        TypeError: x is dense.

    Example:
        >>> x = paddle.sparse.sparse_coo_tensor([[1]], [{example.split(" -> ")[0]}], [3])
        >>> {package}.{name}(x).values().tolist()
        [{example.split(" -> ")[1]}]
    """
    return api(apply, method=False, export=False)


sin = on_values("sin", elementwise.sin, "The sine", "0.0 -> 0.0")
tan = on_values("tan", elementwise.tan, "The tangent", "0.0 -> 0.0")
asin = on_values("asin", elementwise.asin, "The inverse sine", "0.0 -> 0.0")
atan = on_values("atan", elementwise.atan, "The inverse tangent", "0.0 -> 0.0")
sinh = on_values("sinh", elementwise.sinh, "The hyperbolic sine", "0.0 -> 0.0")
asinh = on_values("asinh", elementwise.asinh, "The inverse hyperbolic sine", "0.0 -> 0.0")
atanh = on_values("atanh", elementwise.atanh, "The inverse hyperbolic tangent", "0.0 -> 0.0")
tanh = on_values("tanh", elementwise.tanh, "The hyperbolic tangent", "0.0 -> 0.0")
square = on_values("square", elementwise.square, "The square", "-3.0 -> 9.0")
sqrt = on_values("sqrt", elementwise.sqrt, "The square root", "9.0 -> 3.0")
log1p = on_values("log1p", elementwise.log1p, "log(1 + x)", "0.0 -> 0.0")
expm1 = on_values("expm1", elementwise.expm1, "exp(x) - 1", "0.0 -> 0.0")
abs = on_values("abs", elementwise.abs, "The absolute value", "-3.0 -> 3.0")
neg = on_values("neg", elementwise.neg, "The negative", "3.0 -> -3.0")
deg2rad = on_values("deg2rad", elementwise.deg2rad, "The angle in radians", "0.0 -> 0.0")
rad2deg = on_values("rad2deg", elementwise.rad2deg, "The angle in degrees", "0.0 -> 0.0")
isnan = on_values("isnan", elementwise.isnan, "Whether it is NaN", "1.0 -> False")


@api(method=False, export=False)
def pow(x, factor):
    """Each stored value to the power `factor`, a number; the pattern stays.

    Raises:
        TypeError: x is dense.

    Example:
        >>> x = paddle.sparse.sparse_coo_tensor([[1]], [3.0], [3])
        >>> paddle.sparse.pow(x, 2.0).values().tolist()
        [9.0]
    """
    return sparse_of("pow", x).like(math.pow(x._values, factor))


@api(method=False, export=False)
def cast(x, index_dtype=None, value_dtype=None):
    """A sparse tensor with other types of its indices and values (None: as they are).

    Args:
        index_dtype: int32 or int64.
        value_dtype: a data type.

    Raises:
        TypeError: x is dense, or no such types.

    Example:
        >>> x = paddle.sparse.sparse_coo_tensor([[1]], [3.0], [3])
        >>> paddle.sparse.cast(x, "int32", "float64").dtype
        paddle.float64
    """
    x = sparse_of("cast", x)
    pattern, values = x._pattern, x._values
    if index_dtype is not None:
        if to_dtype(index_dtype).name not in ("int32", "int64"):
            raise errors.TypeError_(f"cast: index_dtype must be int32 or int64, got {index_dtype!r}")
        pattern = pattern.cast(index_dtype)
    return SparseTensor(pattern, values if value_dtype is None else values.astype(value_dtype))


for method in (
    sin,
    tan,
    asin,
    atan,
    sinh,
    asinh,
    atanh,
    tanh,
    square,
    sqrt,
    log1p,
    expm1,
    abs,
    neg,
    deg2rad,
    rad2deg,
    isnan,
    pow,
):
    setattr(SparseTensor, method.__name__, method)
SparseTensor.__neg__, SparseTensor.__abs__ = neg, abs  # type: ignore[assignment, method-assign]
SparseTensor.__pow__ = pow  # type: ignore[assignment, method-assign]
