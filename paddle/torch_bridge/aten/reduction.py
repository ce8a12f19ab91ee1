"""Operators of ATen that reduce, sort, or multiply matrices."""

from __future__ import annotations

from typing import Any

import paddle as P

from ...engine.tensor import Tensor
from .table import aten


def _axes(dim: Any) -> Any:
    return None if dim is None or isinstance(dim, (list, tuple)) and not dim else dim


def _typed(self: Tensor, dtype: Any) -> Tensor:
    return self if dtype is None else self.astype(dtype)


@aten("mean")
def mean(self, dim=None, keepdim=False, dtype=None):
    return P.mean(_typed(self, dtype), _axes(dim), keepdim)


@aten("sum")
def sum(self, dim=None, keepdim=False, dtype=None):
    if dtype is None and not self.is_floating_point() and "complex" not in self.dtype.name:
        dtype = "int64"
    return P.sum(_typed(self, dtype), _axes(dim), keepdim=keepdim)


@aten("prod")
def prod(self, dim=None, keepdim=False, dtype=None):
    return P.prod(_typed(self, dtype), dim, keepdim)


@aten("amax")
def amax(self, dim=(), keepdim=False):
    return P.amax(self, _axes(dim), keepdim)


@aten("amin")
def amin(self, dim=(), keepdim=False):
    return P.amin(self, _axes(dim), keepdim)


@aten("max")
def maximum(self):
    return P.max(self)


@aten("min")
def minimum(self):
    return P.min(self)


@aten("max.other")
def max_other(self, other):
    return P.maximum(self, other)


@aten("min.other")
def min_other(self, other):
    return P.minimum(self, other)


@aten("max.dim")
def max_dim(self, dim, keepdim=False):
    where = P.argmax(self, dim, keepdim=True)
    values = P.take_along_axis(self, where, dim)
    return (values, where) if keepdim else (values.squeeze(dim), where.squeeze(dim))


@aten("min.dim")
def min_dim(self, dim, keepdim=False):
    where = P.argmin(self, dim, keepdim=True)
    values = P.take_along_axis(self, where, dim)
    return (values, where) if keepdim else (values.squeeze(dim), where.squeeze(dim))


@aten("argmax")
def argmax(self, dim=None, keepdim=False):
    return P.argmax(self, dim, keepdim)


@aten("argmin")
def argmin(self, dim=None, keepdim=False):
    return P.argmin(self, dim, keepdim)


@aten("any")
def any_(self, dim=None, keepdim=False):
    return P.any(self.astype("bool"), _axes(dim), keepdim)


@aten("all")
def all_(self, dim=None, keepdim=False):
    return P.all(self.astype("bool"), _axes(dim), keepdim)


def _correction(unbiased: Any, correction: Any) -> float:
    if correction is not None:
        return correction
    return 1 if unbiased is None or unbiased else 0


def _variance(self: Tensor, dim: Any, correction: float, keepdim: bool) -> Tensor:
    axes = _axes(dim)
    mean = P.mean(self, axes, True)
    squares = P.square(self - mean)
    biased = P.mean(squares, axes, keepdim)
    if not correction:
        return biased
    picked = range(self.ndim) if axes is None else [axes] if isinstance(axes, int) else axes
    count = 1
    for axis in picked:
        count = count * self.shape[axis]
    return biased * (count / (count - correction))


@aten("var")
def var(self, dim=None, unbiased=None, correction=None, keepdim=False):
    return _variance(self, dim, _correction(unbiased, correction), keepdim)


@aten("std")
def std(self, dim=None, unbiased=None, correction=None, keepdim=False):
    return P.sqrt(_variance(self, dim, _correction(unbiased, correction), keepdim))


@aten("var_mean")
def var_mean(self, dim=None, unbiased=None, correction=None, keepdim=False):
    return _variance(self, dim, _correction(unbiased, correction), keepdim), P.mean(self, _axes(dim), keepdim)


@aten("norm", "linalg_vector_norm")
def norm(self, p=2, dim=None, keepdim=False, ord=None, dtype=None):
    p = 2 if p is None and ord is None else p if ord is None else ord
    x, axes = _typed(self, dtype), _axes(dim)
    if p == 2:
        return P.sqrt(P.sum(P.square(x), axes, keepdim=keepdim))
    if p == 1:
        return P.sum(P.abs(x), axes, keepdim=keepdim)
    if p == float("inf"):
        return P.max(P.abs(x), axes, keepdim)
    if p == float("-inf"):
        return P.min(P.abs(x), axes, keepdim)
    if p == 0:
        return P.sum((x != 0).astype(x.dtype), axes, keepdim=keepdim)
    return P.pow(P.sum(P.pow(P.abs(x), p), axes, keepdim=keepdim), 1.0 / p)


@aten("logsumexp")
def logsumexp(self, dim, keepdim=False):
    return P.logsumexp(self, _axes(dim), keepdim)


@aten("cumsum")
def cumsum(self, dim, dtype=None):
    if dtype is None and not self.is_floating_point():
        dtype = "int64"
    return P.cumsum(_typed(self, dtype), dim)


@aten("cumprod")
def cumprod(self, dim, dtype=None):
    return P.cumprod(_typed(self, dtype), dim)


@aten("diff")
def diff(self, n=1, dim=-1, prepend=None, append=None):
    return P.diff(self, n, dim, prepend, append)


@aten("topk")
def topk(self, k, dim=-1, largest=True, sorted=True):
    return P.topk(self, k, dim, largest, sorted)


@aten("sort")
def sort(self, dim=-1, descending=False, stable=False):
    where = P.argsort(self, dim, descending, stable=True)
    return P.take_along_axis(self, where, dim), where


@aten("argsort")
def argsort(self, dim=-1, descending=False, stable=False):
    return P.argsort(self, dim, descending, stable=True)


@aten("matmul", "mm", "bmm", "dot", "mv")
def matmul(self, other=None, mat2=None, tensor=None, vec=None):
    second = next(x for x in (other, mat2, tensor, vec) if x is not None)
    return P.matmul(self, second)


@aten("addmm")
def addmm(self, mat1, mat2, beta=1, alpha=1):
    product = P.matmul(mat1, mat2)
    product = product if alpha == 1 else product * alpha
    return product + (self if beta == 1 else self * beta)


@aten("baddbmm")
def baddbmm(self, batch1, batch2, beta=1, alpha=1):
    product = P.matmul(batch1, batch2)
    product = product if alpha == 1 else product * alpha
    return product if beta == 0 else product + (self if beta == 1 else self * beta)


@aten("einsum")
def einsum(equation, tensors, path=None):
    return P.einsum(equation, *tensors)


@aten("outer")
def outer(self, vec2):
    return P.outer(self, vec2)


@aten("tensordot")
def tensordot(self, other, dims_self, dims_other):
    return P.tensordot(self, other, [list(dims_self), list(dims_other)])


@aten("cosine_similarity")
def cosine_similarity(x1, x2, dim=1, eps=1e-8):
    def unit(x: Tensor) -> Tensor:
        return x / P.clip(P.sqrt(P.sum(P.square(x), dim, keepdim=True)), min=eps)

    return P.sum(unit(x1) * unit(x2), dim)


@aten("cdist")
def cdist(x1, x2, p=2.0, compute_mode=None):
    return P.cdist(x1, x2, p)
