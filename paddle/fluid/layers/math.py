"""Arithmetic, by its names before version 2."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import paddle
from paddle.nn import functional as F

from ...engine.tensor import Tensor
from ...static.nn.builder import activation

__all__ = """abs acos asin atan ceil cos cosh cumsum erf exp floor log logsigmoid reciprocal round rsqrt sigmoid sign sin sinh
softplus softsign sqrt square tanh tanh_shrink hard_shrink softshrink thresholded_relu logical_and logical_or logical_not
logical_xor equal not_equal less_than less_equal greater_than greater_equal elementwise_add elementwise_sub elementwise_mul
elementwise_div elementwise_max elementwise_min elementwise_pow elementwise_mod elementwise_floordiv reduce_sum reduce_mean
reduce_max reduce_min reduce_prod reduce_all reduce_any mean sum scale matmul mul clip clip_by_norm increment l2_normalize
cos_sim pow stanh is_empty""".split()


def _activated(out: Tensor, act: str | None) -> Tensor:
    return out if act is None else activation("elementwise", act)(out)


# ---- of one tensor ----

abs, acos, asin, atan, ceil, cos, cosh = (
    paddle.abs,
    paddle.acos,
    paddle.asin,
    paddle.atan,
    paddle.ceil,
    paddle.cos,
    paddle.cosh,
)
erf, exp, floor, log, reciprocal, round, rsqrt = (
    paddle.erf,
    paddle.exp,
    paddle.floor,
    paddle.log,
    paddle.reciprocal,
    paddle.round,
    paddle.rsqrt,
)
sign, sin, sinh, sqrt, square, tanh = paddle.sign, paddle.sin, paddle.sinh, paddle.sqrt, paddle.square, paddle.tanh
sigmoid, logsigmoid, softplus, softsign, tanh_shrink = F.sigmoid, F.log_sigmoid, F.softplus, F.softsign, F.tanhshrink


def hard_shrink(x: Tensor, threshold: float = 0.5) -> Tensor:
    return F.hardshrink(x, threshold)


def softshrink(x: Tensor, alpha: float = 0.5) -> Tensor:
    return F.softshrink(x, alpha)


def thresholded_relu(x: Tensor, threshold: float = 1.0) -> Tensor:
    return F.thresholded_relu(x, threshold)


def stanh(x: Tensor, scale_a: float = 0.67, scale_b: float = 1.7159, name: str | None = None) -> Tensor:
    return paddle.stanh(x, scale_a, scale_b)


def pow(x: Tensor, factor: Any = 1.0, name: str | None = None) -> Tensor:
    return paddle.pow(x, factor)


def cumsum(x: Tensor, axis: int = -1, exclusive: bool = False, reverse: bool = False) -> Tensor:
    """Sums of the elements up to each one, without it when `exclusive`, from the end when `reverse`."""
    if reverse:
        return paddle.flip(cumsum(paddle.flip(x, axis), axis, exclusive), axis)
    out = paddle.cumsum(x, axis)
    return out - x if exclusive else out


def clip(x: Tensor, min: float, max: float, name: str | None = None) -> Tensor:
    return paddle.clip(x, min, max)


def clip_by_norm(x: Tensor, max_norm: float, name: str | None = None) -> Tensor:
    """x, scaled down to the norm `max_norm` when its norm is larger."""
    norm = paddle.sqrt(paddle.sum(x * x))
    return x * (max_norm / paddle.maximum(norm, paddle.full([], max_norm, x.dtype)))


def l2_normalize(x: Tensor, axis: int, epsilon: float = 1e-12, name: str | None = None) -> Tensor:
    return x * paddle.rsqrt(paddle.maximum(paddle.sum(x * x, axis, keepdim=True), paddle.full([], epsilon, x.dtype)))


def cos_sim(X: Tensor, Y: Tensor) -> Tensor:
    """The cosine of the angle between rows, [N, 1]."""
    return F.cosine_similarity(X, Y, axis=1).unsqueeze(1)


def scale(
    x: Tensor,
    scale: Any = 1.0,
    bias: float = 0.0,
    bias_after_scale: bool = True,
    act: str | None = None,
    name: str | None = None,
) -> Tensor:
    return _activated(paddle.scale(x, scale, bias, bias_after_scale), act)


def increment(x: Tensor, value: float = 1.0, in_place: bool = True) -> Tensor:
    return paddle.increment(x, value) if in_place else x + value


def is_empty(x: Tensor, name: str | None = None) -> Tensor:
    return paddle.is_empty(x)


# ---- of two tensors ----


def _aligned(x: Tensor, y: Tensor, axis: int) -> Tensor:
    """y with its first axis at `axis` of x."""
    if axis == -1 or y.ndim >= x.ndim or axis + y.ndim == x.ndim:
        return y
    return paddle.unsqueeze(y, list(range(y.ndim, x.ndim - axis)))


def _elementwise(name: str, function: Callable) -> Callable:
    def call(x: Tensor, y: Tensor, axis: int = -1, act: str | None = None, name: str | None = None) -> Tensor:
        return _activated(function(x, _aligned(x, y, axis)), act)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"`paddle.{function.__name__}`; the first axis of y stands at `axis` of x, `act` follows."
    return call


elementwise_add = _elementwise("elementwise_add", paddle.add)
elementwise_sub = _elementwise("elementwise_sub", paddle.subtract)
elementwise_mul = _elementwise("elementwise_mul", paddle.multiply)
elementwise_div = _elementwise("elementwise_div", paddle.divide)
elementwise_max = _elementwise("elementwise_max", paddle.maximum)
elementwise_min = _elementwise("elementwise_min", paddle.minimum)
elementwise_pow = _elementwise("elementwise_pow", paddle.pow)
elementwise_mod = _elementwise("elementwise_mod", paddle.remainder)
elementwise_floordiv = _elementwise("elementwise_floordiv", paddle.floor_divide)


def _comparison(name: str, function: Callable) -> Callable:
    def call(
        x: Tensor, y: Tensor, cond: Tensor | None = None, force_cpu: Any = None, name: str | None = None
    ) -> Tensor:
        found = function(x, y)
        return found if cond is None else cond._rebind(found.reshape(cond.shape))

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"`paddle.{function.__name__}`; `cond` becomes the result when it is given."
    return call


equal = _comparison("equal", paddle.equal)
not_equal = _comparison("not_equal", paddle.not_equal)
greater_than = _comparison("greater_than", paddle.greater_than)
greater_equal = _comparison("greater_equal", paddle.greater_equal)
less_equal = _comparison("less_equal", paddle.less_equal)


def less_than(
    x: Tensor, y: Tensor, force_cpu: Any = None, cond: Tensor | None = None, name: str | None = None
) -> Tensor:
    """`paddle.less_than`; `cond` becomes the result when it is given."""
    found = paddle.less_than(x, y)
    return found if cond is None else cond._rebind(found.reshape(cond.shape))


def _logical(name: str, function: Callable) -> Callable:
    def call(*tensors: Tensor, out: Tensor | None = None, name: str | None = None) -> Tensor:
        found = function(*tensors)
        return found if out is None else out._rebind(found.reshape(out.shape))

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"`paddle.{function.__name__}`; `out` becomes the result when it is given."
    return call


logical_and = _logical("logical_and", paddle.logical_and)
logical_or = _logical("logical_or", paddle.logical_or)
logical_xor = _logical("logical_xor", paddle.logical_xor)
logical_not = _logical("logical_not", paddle.logical_not)


# ---- reductions: what has one element has the shape [1] ----


def _reduction(name: str, function: Callable) -> Callable:
    def call(input: Tensor, dim: Any = None, keep_dim: bool = False, name: str | None = None) -> Tensor:
        axes = list(dim) if isinstance(dim, (list, tuple)) else dim
        out = function(input, axes, keepdim=keep_dim)
        return out if out.ndim else out.reshape([1])

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"`paddle.{function.__name__}` along `dim`; over all axes the result has the shape [1]."
    return call


reduce_sum = _reduction("reduce_sum", paddle.sum)
reduce_mean = _reduction("reduce_mean", paddle.mean)
reduce_max = _reduction("reduce_max", paddle.max)
reduce_min = _reduction("reduce_min", paddle.min)
reduce_prod = _reduction("reduce_prod", paddle.prod)
reduce_all = _reduction("reduce_all", paddle.all)
reduce_any = _reduction("reduce_any", paddle.any)


def mean(x: Tensor, name: str | None = None) -> Tensor:
    """The mean of all elements, of shape [1]."""
    return paddle.mean(x).reshape([1])


def sum(x: Any) -> Tensor:
    """The sum of a list of tensors."""
    return paddle.add_n(list(x) if isinstance(x, (list, tuple)) else [x])


# ---- products ----


def matmul(
    x: Tensor,
    y: Tensor,
    transpose_x: bool = False,
    transpose_y: bool = False,
    alpha: float = 1.0,
    name: str | None = None,
) -> Tensor:
    out = paddle.matmul(x, y, transpose_x, transpose_y)
    return out if alpha == 1.0 else out * alpha


def mul(x: Tensor, y: Tensor, x_num_col_dims: int = 1, y_num_col_dims: int = 1, name: str | None = None) -> Tensor:
    """The product of two tensors as matrices: so many leading axes are the rows."""
    left = paddle.reshape(x, [-1, _length(x.shape[x_num_col_dims:])])
    right = paddle.reshape(y, [_length(y.shape[:y_num_col_dims]), -1])
    lengths = [*_sizes(x, range(x_num_col_dims)), *_sizes(y, range(y_num_col_dims, y.ndim))]
    return paddle.reshape(paddle.matmul(left, right), lengths)


def _length(lengths: Any) -> Any:
    product: Any = 1
    for n in lengths:
        product = product * n
    return product


def _sizes(x: Tensor, axes: Any) -> list:
    return [x.shape[i] for i in axes]
