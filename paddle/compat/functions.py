"""PyTorch's forms of functions of tensors."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

from ..engine import errors
from ..engine import random as _random
from ..engine.op import _write_out, api
from ..engine.tensor import Tensor
from ..ops import comparison, equations, joining, manipulation, math, reduction, search, statistics
from ..ops.manipulation import tensor_of


class MinMaxRetType(NamedTuple):
    """The extrema along an axis and where they are."""

    values: Any
    indices: Any


class MedianRetType(NamedTuple):
    """The medians along an axis and where they are."""

    values: Any
    indices: Any


class SortRetType(NamedTuple):
    """Sorted values and where they were."""

    values: Any
    indices: Any


class SlogdetResult(NamedTuple):
    """The sign of a determinant and the logarithm of its absolute value."""

    sign: Any
    logabsdet: Any


def _given(kind: type, pair: Any, out: Any) -> Any:
    return kind(*(pair if out is None else _write_out(kind.__name__, tuple(pair), tuple(out))))


def _extremum(name: str, input: Any, args: tuple, kwargs: dict, out: Any) -> Any:
    """The three forms: of all elements, along an axis, of two tensors."""
    input = tensor_of(name, input, "input")
    names = ["other"] if "other" in kwargs or args and isinstance(args[0], Tensor) else ["dim", "keepdim"]
    if len(args) > len(names):
        raise errors.TypeError_(
            f"{name}: takes (input), (input, dim, keepdim=False) or (input, other), got {len(args) + 1} arguments"
        )
    for key, value in zip(names, args):
        if key in kwargs:
            raise errors.TypeError_(f"{name}: argument {key!r} is given twice")
        kwargs[key] = value
    unknown = [k for k in kwargs if k not in names]
    if unknown or names[0] not in kwargs and kwargs:
        raise errors.TypeError_(
            f"{name}: takes (input), (input, dim, keepdim=False) or (input, other), got "
            f"{', '.join(unknown or kwargs)}; paddle.{name} takes axis"
        )
    if not kwargs:
        found = getattr(reduction, name)(input)
        return found if out is None else _write_out(name, found, out)
    if names[0] == "other":
        found = (math.maximum if name == "max" else math.minimum)(input, kwargs["other"])
        return found if out is None else _write_out(name, found, out)
    dim, keepdim = kwargs["dim"], kwargs.get("keepdim", False)
    if isinstance(dim, bool) or not isinstance(dim, int):
        raise errors.TypeError_(f"{name}: dim must be an int, got {errors.describe(dim)}")
    place = (search.argmax if name == "max" else search.argmin)(input, dim, True)
    values = manipulation.tensor_of(name, _along(input, place, dim))
    if not keepdim and input.ndim:
        values, place = values.squeeze(dim), place.squeeze(dim)
    return _given(MinMaxRetType, (values, place), out)


def _along(x: Tensor, index: Tensor, dim: int) -> Tensor:
    return x.take_along_axis(index, dim, broadcast=False) if x.ndim else x


@api(method=False)
def max(input, *args, out=None, **kwargs):
    """The largest element, (the largest elements along an axis, their places), or the larger of two tensors:
    `max(input)`,
    `max(input, dim, keepdim=False)`, `max(input, other)`.

    Raises:
        TypeError: another form.

    Example:
        >>> values, indices = paddle.compat.max(paddle.to_tensor([[1.0, 3.0], [4.0, 2.0]]), 1)
        >>> values.tolist(), indices.tolist()
        ([3.0, 4.0], [1, 0])
    """
    return _extremum("max", input, args, kwargs, out)


@api(method=False)
def min(input, *args, out=None, **kwargs):
    """The smallest element, (the smallest elements along an axis, their places), or the smaller of two tensors; see
    `max`.

    Example:
        >>> paddle.compat.min(paddle.to_tensor([[1.0, 3.0], [4.0, 2.0]]), dim=0).values.tolist()
        [1.0, 2.0]
    """
    return _extremum("min", input, args, kwargs, out)


def _median(function: Any, input: Any, dim: Any, keepdim: bool, out: Any) -> Any:
    found = function(tensor_of("median", input, "input"), dim, keepdim, mode="min")
    if dim is None:
        found = found[0] if isinstance(found, tuple) else found
        return found if out is None else _write_out("median", found, out)
    return _given(MedianRetType, found, out)


@api(method=False)
def median(input, dim=None, keepdim=False, *, out=None):
    """The median (of an even number of elements the lower one): of all elements, or (medians, places) along an axis.

    Example:
        >>> float(paddle.compat.median(paddle.to_tensor([1.0, 2.0, 3.0, 4.0])))
        2.0
    """
    return _median(statistics.median, input, dim, keepdim, out)


@api(method=False)
def nanmedian(input, dim=None, keepdim=False, *, out=None):
    """`median` without NaN.

    Example:
        >>> float(paddle.compat.nanmedian(paddle.to_tensor([1.0, float("nan"), 3.0])))
        1.0
    """
    return _median(statistics.nanmedian, input, dim, keepdim, out)


@api(method=False)
def sort(input, dim=-1, descending=False, stable=False, out=None):
    """(Sorted elements, where they were) along an axis.

    Example:
        >>> values, indices = paddle.compat.sort(paddle.to_tensor([3.0, 1.0, 2.0]))
        >>> values.tolist(), indices.tolist()
        ([1.0, 2.0, 3.0], [1, 2, 0])
    """
    place = search.argsort(tensor_of("sort", input, "input"), dim, descending, stable)
    return _given(SortRetType, (_along(input, place, dim), place), out)


@api(method=False)
def slogdet(x, out=None):
    """(Sign of the determinant, logarithm of its absolute value) of square matrices.

    Example:
        >>> sign, logarithm = paddle.compat.slogdet(paddle.to_tensor([[1.0, 2.0], [3.0, 4.0]]))
        >>> float(sign), round(float(logarithm), 4)
        (-1.0, 0.6931)
    """
    found = equations.slogdet(x)
    return _given(SlogdetResult, (found[0], found[1]), out)


@api(method=False)
def equal(input, other):
    """Whether two tensors have one shape and equal elements, a bool.

    Example:
        >>> paddle.compat.equal(paddle.ones([2]), paddle.ones([3]))
        False
    """
    input, other = tensor_of("equal", input, "input"), tensor_of("equal", other, "other")
    return list(input.shape) == list(other.shape) and bool(comparison.equal(input, other).all())


@api(method=False)
def seed():
    """Seed all generators with a number from the operating system, which is returned.

    Example:
        >>> paddle.compat.seed() == paddle.seed(7).initial_seed()
        False
    """
    number = int.from_bytes(os.urandom(6), "little")
    _random.seed(number)
    return number


@api(method=False)
def split(tensor, split_size_or_sections, dim=0):
    """Parts of a tensor along an axis: of a length (the last may be shorter), or of lengths that are listed.

    Args:
        tensor: any tensor.
        split_size_or_sections: a positive int, or a list of lengths with the length of the axis as sum.
        dim: the axis.

    Returns:
        A tuple of tensors.

    Raises:
        ValueError: lengths that do not fit.

    Example:
        >>> [part.tolist() for part in paddle.compat.split(paddle.to_tensor([1, 2, 3]), 2)]
        [[1, 2], [3]]
    """
    sizes, n = split_size_or_sections, tensor_of("split", tensor, "tensor").shape[dim]
    if isinstance(sizes, (list, tuple)):
        sizes = [int(s) for s in sizes]
        if any(s < 0 for s in sizes) or sum(sizes) != n:
            raise errors.ValueError_(f"split: the lengths {sizes} must be at least 0 and have the sum {n}")
    else:
        size = int(sizes)
        if size <= 0:
            raise errors.ValueError_(f"split: the length of a part must be positive, got {size}")
        sizes = [size] * (n // size) + ([n % size] if n % size else [])
    return tuple(joining.split(tensor, sizes, dim)) if sizes else ()


@api(method=False)
def unique(input, sorted=True, return_inverse=False, return_counts=False, dim=None):
    """The distinct elements (or slices along an axis) in ascending order[, where each element is among them][, how
    often
    each occurs].

    Example:
        >>> paddle.compat.unique(paddle.to_tensor([3, 1, 3])).tolist()
        [1, 3]
    """
    return search.unique(input, False, return_inverse, return_counts, dim)
