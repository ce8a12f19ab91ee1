"""Joining and splitting tensors."""
from __future__ import annotations

import math
from typing import Any

import jax.numpy as jnp
import numpy as np

from ..engine import errors
from ..engine.executable import Frozen
from ..engine.op import api, op
from ..engine.tensor import Tensor
from .axes import axis_of
from .manipulation import ints_of, tensor_of


def _listed(name: str, x: Any, argument: str = "x") -> list:
    """A non-empty list of tensors."""
    if isinstance(x, Tensor) or not isinstance(x, (list, tuple)):
        raise errors.ValueError_(f"{name}: {argument} must be a list of Tensors, got {errors.describe(x)}")
    if not x:
        raise errors.ValueError_(f"{name}: {argument} is an empty list, at least one Tensor is needed")
    for each in x:
        tensor_of(name, each, f"each element of {argument}")
    return list(x)


def _one_type(name, x):
    for i, each in enumerate(x):
        if each.dtype != x[0].dtype:
            raise errors.ValueError_(f"{name}: the tensors must have one data type, but the first has {x[0].dtype.name} and "
                                     f"number {i} {each.dtype.name}")


def _axis(axis: Any) -> Any:
    return axis.item() if isinstance(axis, (Tensor, np.integer)) else axis


@op(method=False, export=False, name="concat")
def _concat(x, axis):
    _one_type("concat", x)
    shape = x[0].shape
    if not shape:
        raise errors.ValueError_("concat: tensors without dimensions cannot be concatenated; use stack")
    axis = axis_of("concat", axis, len(shape))
    for each in x:
        if len(each.shape) != len(shape) or any(a != b for i, (a, b) in enumerate(zip(each.shape, shape)) if i != axis):
            raise errors.ValueError_(f"concat: the shapes {[list(e.shape) for e in x]} differ in more than axis {axis}")
    return jnp.concatenate(x, axis)


@api(method="concat")
def concat(x, axis=0):
    """Join tensors of one type along an axis that they have.

    Args:
        x: a list of tensors whose shapes agree except along `axis`.

    Raises:
        ValueError: an empty list, types or shapes that do not agree, an axis out of range.

    Example:
        >>> paddle.concat([paddle.ones([2, 3]), paddle.zeros([1, 3])]).shape
        [3, 3]
    """
    return _concat(_listed("concat", x), _axis(axis))


cat = concatenate = concat
__all__ += ["cat", "concatenate"]  # type: ignore[name-defined]  # noqa: F821


@op(method=False, export=False, name="stack")
def _stack(x, axis):
    _one_type("stack", x)
    if any(each.shape != x[0].shape for each in x):
        raise errors.ValueError_(f"stack: the tensors must have one shape, got {[list(e.shape) for e in x]}")
    return jnp.stack(x, axis_of("stack", axis, x[0].ndim + 1))


@api(method="stack")
def stack(x, axis=0):
    """Join tensors of one shape and type along a new axis.

    Raises:
        ValueError: an empty list, shapes or types that differ, an axis out of range.

    Example:
        >>> paddle.stack([paddle.ones([3]), paddle.zeros([3])], axis=1).shape
        [3, 2]
    """
    return _stack(_listed("stack", x), _axis(axis))


# ---- splitting ----

@op(method=False, export=False, name="split", static="sections axis")
def _split(x, sections, axis):
    """Pieces of the lengths `sections` along an axis."""
    return tuple(jnp.split(x, np.cumsum(sections)[:-1].tolist(), axis))


def _cut(x: Tensor, sections: list[int], axis: int) -> list[Tensor]:
    if len(sections) == 1:
        from .creation import assign
        return [assign(x)]
    return list(_split(x, Frozen(sections), axis))


@api
def split(x, num_or_sections, axis=0):
    """Cut into pieces along an axis.

    Args:
        num_or_sections: how many equal pieces, or a list of their lengths, one of which may be -1.

    Raises:
        ValueError: the axis is not divisible, the lengths do not add up, an axis out of range.

    Example:
        >>> [p.shape for p in paddle.split(paddle.ones([6, 2]), [1, 2, -1])]
        [[1, 2], [2, 2], [3, 2]]
    """
    if not tensor_of("split", x).ndim:
        raise errors.ValueError_("split: x has no dimensions to split")
    axis = axis_of("split", _axis(axis), x.ndim)
    n = x._value.shape[axis]
    if isinstance(num_or_sections, (list, tuple)) or isinstance(num_or_sections, Tensor) and num_or_sections.ndim:
        sections = list(ints_of("split", num_or_sections, "num_or_sections"))
        if sections.count(-1) > 1 or any(s < -1 for s in sections) or not sections:
            raise errors.ValueError_(f"split: num_or_sections may hold one -1 and no other negative length, got {sections}")
        if -1 in sections:
            sections[sections.index(-1)] = n - sum(sections) - 1
        if sum(sections) != n or min(sections) < 0:
            raise errors.ValueError_(f"split: the lengths {sections} do not add up to {n}, the length of axis {axis}")
        return _cut(x, sections, axis)
    number, = ints_of("split", num_or_sections, "num_or_sections")
    if number <= 0 or n % number:
        raise errors.ValueError_(f"split: axis {axis}, of length {n}, cannot be cut into {number} equal pieces")
    return _cut(x, [n // number] * number, axis)
