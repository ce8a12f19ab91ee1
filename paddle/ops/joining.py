"""Joining and splitting tensors."""

from __future__ import annotations

import functools
import itertools
from typing import Any

import jax.numpy as jnp
import numpy as np

from ..engine import errors
from ..engine.executable import Frozen
from ..engine.op import api, op
from ..engine.tensor import Tensor
from ..engine.value import Dim
from .axes import axis_of
from .manipulation import atleast_1d, atleast_2d, atleast_3d, ints_of, reshape, tensor_of, tensors_of
from .parts import unstacked


def _axis(axis: Any) -> Any:
    return axis.item() if isinstance(axis, (Tensor, np.integer)) else axis


@op(method=False, export=False, name="concat")
def _concat(x, axis):
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
    return _concat(tensors_of("concat", x), _axis(axis))


cat = concatenate = concat
__all__ += ["cat", "concatenate"]  # type: ignore[name-defined]  # noqa: F821


@op(method=False, export=False, name="stack")
def _stack(x, axis):
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
    return _stack(tensors_of("stack", x), _axis(axis))


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
    n = x._raw.shape[axis]
    if isinstance(num_or_sections, (list, tuple)) or isinstance(num_or_sections, Tensor) and num_or_sections.ndim:
        sections = list(ints_of("split", num_or_sections, "num_or_sections"))
        if sections.count(-1) > 1 or any(s < -1 for s in sections) or not sections:
            raise errors.ValueError_(
                f"split: num_or_sections may hold one -1 and no other negative length, got {sections}"
            )
        if -1 in sections:
            sections[sections.index(-1)] = n - sum(sections) - 1
        if sum(sections) != n or min(sections) < 0:
            raise errors.ValueError_(f"split: the lengths {sections} do not add up to {n}, the length of axis {axis}")
        return _cut(x, sections, axis)
    (number,) = ints_of("split", num_or_sections, "num_or_sections")
    if number <= 0 or not isinstance(n, Dim) and n % number:
        raise errors.ValueError_(f"split: axis {axis}, of length {n}, cannot be cut into {number} equal pieces")
    return _cut(x, [n // number] * number, axis)


@api
def tensor_split(x, num_or_indices, axis=0):
    """Cut into nearly equal pieces, or at given positions, along an axis.

    Args:
        num_or_indices: the number of pieces, the first ones are longer by one where it does not divide; or a list of
            the positions (as in a slice) where the next piece begins.

    Raises:
        ValueError: no piece, x without dimensions.

    Example:
        >>> [p.shape for p in paddle.tensor_split(paddle.arange(7), 3)]
        [[3], [2], [2]]
    """
    return _cut_at("tensor_split", x, num_or_indices, axis)


def _cut_at(name: str, x: Tensor, num_or_indices: Any, axis: Any) -> list[Tensor]:
    if not tensor_of(name, x).ndim:
        raise errors.ValueError_(f"{name}: x has no dimensions to split")
    axis = axis_of(name, _axis(axis), x.ndim)
    n = x._raw.shape[axis]
    given = ints_of(name, num_or_indices, "num_or_indices")
    if isinstance(num_or_indices, (list, tuple)) or isinstance(num_or_indices, Tensor) and num_or_indices.ndim:
        bounds = [0, *(slice(i).indices(n)[1] for i in given), n]
        if all(a <= b for a, b in zip(bounds, bounds[1:])):
            return _cut(x, [b - a for a, b in zip(bounds, bounds[1:])], axis)
        from .parts import slice as part

        return [part(x, [axis], [a], [max(a, b)]) for a, b in zip(bounds, bounds[1:])]
    (number,) = given
    if not 0 < number <= max(n, 65536):
        raise errors.ValueError_(
            f"{name}: num_or_indices must be positive and (beyond the length) at most 65536, got {number}"
        )
    short, longer = divmod(n, number)
    return _cut(x, [short + (i < longer) for i in range(number)], axis)


@api
def hsplit(x, num_or_indices):
    """`tensor_split` along the second axis, or the only one.

    Example:
        >>> [p.shape for p in paddle.hsplit(paddle.ones([2, 4]), 2)]
        [[2, 2], [2, 2]]
    """
    if x.ndim < 1:
        raise errors.ValueError_("hsplit: x must have at least one dimension")
    return _cut_at("hsplit", x, num_or_indices, 1 if x.ndim > 1 else 0)


@api
def vsplit(x, num_or_indices):
    """`tensor_split` along the first axis of a tensor of at least 2 dimensions.

    Example:
        >>> [p.shape for p in paddle.vsplit(paddle.ones([4, 2]), 2)]
        [[2, 2], [2, 2]]
    """
    if x.ndim < 2:
        raise errors.ValueError_(f"vsplit: x must have at least 2 dimensions, got shape {list(x.shape)}")
    return _cut_at("vsplit", x, num_or_indices, 0)


@api
def dsplit(x, num_or_indices):
    """`tensor_split` along the third axis.

    Example:
        >>> [p.shape for p in paddle.dsplit(paddle.ones([2, 2, 4]), 2)]
        [[2, 2, 2], [2, 2, 2]]
    """
    if x.ndim < 3:
        raise errors.ValueError_(f"dsplit: x must have at least 3 dimensions, got shape {list(x.shape)}")
    return _cut_at("dsplit", x, num_or_indices, 2)


@api
def chunk(x, chunks, axis=0):
    """Cut into equal pieces along an axis.

    Raises:
        ValueError: `chunks` does not divide the axis or is not positive.

    Example:
        >>> [p.shape for p in paddle.chunk(paddle.ones([6]), 3)]
        [[2], [2], [2]]
    """
    if not tensor_of("chunk", x).ndim:
        raise errors.ValueError_("chunk: x has no dimensions to split")
    axis = axis_of("chunk", _axis(axis), x.ndim)
    (number,) = ints_of("chunk", chunks, "chunks")
    n = x._raw.shape[axis]
    if number <= 0 or not isinstance(n, Dim) and n % number:
        raise errors.ValueError_(f"chunk: axis {axis}, of length {n}, cannot be cut into {number} equal pieces")
    return _cut(x, [n // number] * number, axis)


@api(method="split_with_sizes", export=False)
def split_with_sizes(self, split_sizes, dim=0):
    """Cut into pieces of the given lengths."""
    sizes = ints_of("split_with_sizes", split_sizes, "split_sizes")
    if any(s < 0 for s in sizes):
        raise errors.ValueError_(f"split_with_sizes: split_sizes cannot be negative, got {list(sizes)}")
    return split(self, list(sizes), dim)


@api
def unstack(x, axis=0, num=None):
    """The slices along an axis, as a list of tensors of their own.

    Args:
        num: how many there are, only checked.

    Example:
        >>> [t.tolist() for t in paddle.unstack(paddle.to_tensor([[1, 2], [3, 4]]))]
        [[1, 2], [3, 4]]
    """
    if not tensor_of("unstack", x).ndim:
        raise errors.ValueError_("unstack: x has no dimensions")
    axis = axis_of("unstack", axis, x.ndim)
    n = x._raw.shape[axis]
    if num is not None and num != n:
        raise errors.ValueError_(f"unstack: axis {axis} has length {n}, num is {num}")
    return list(unstacked(x, axis)) if n else []


# ---- stacking by axis ----


def _rows(name: str, x: Any, least: Any) -> list:
    if isinstance(x, Tensor):  # the official package takes a tensor as the list of its slices
        x = list(x) if x.ndim else [x]
    return [least(each) for each in tensors_of(name, x)]


@api(method=False)
def hstack(x):
    """Join along the second axis; vectors and scalars along the first.

    Example:
        >>> paddle.hstack([paddle.ones([2]), paddle.zeros([1])]).tolist()
        [1.0, 1.0, 0.0]
    """
    listed = _rows("hstack", x, atleast_1d)
    return _concat(listed, 0 if listed[0].ndim == 1 else 1)


@api(method=False)
def vstack(x):
    """Join along the first axis; vectors count as rows.

    Example:
        >>> paddle.vstack([paddle.ones([2]), paddle.zeros([2])]).shape
        [2, 2]
    """
    return _concat(_rows("vstack", x, atleast_2d), 0)


@api(method=False)
def row_stack(x):
    """The same as `vstack`."""
    return vstack(x)


@api(method=False)
def dstack(x):
    """Join along the third axis, which is added where it lacks.

    Example:
        >>> paddle.dstack([paddle.ones([2]), paddle.zeros([2])]).shape
        [1, 2, 2]
    """
    return _concat(_rows("dstack", x, atleast_3d), 2)


@api(method=False)
def column_stack(x):
    """Join along the second axis; vectors and scalars count as columns.

    Example:
        >>> paddle.column_stack([paddle.ones([2]), paddle.zeros([2])]).shape
        [2, 2]
    """
    return _concat(_rows("column_stack", x, lambda t: reshape(t, [-1, 1]) if t.ndim < 2 else t), 1)


@op(method=False, export=False, name="add_n")
def _add_n(inputs):
    if any(each.shape != inputs[0].shape for each in inputs):
        raise errors.ValueError_(f"add_n: the tensors must have one shape, got {[list(i.shape) for i in inputs]}")
    return functools.reduce(jnp.add, inputs)


@api(method="add_n")
def add_n(inputs):
    """The sum of tensors of one shape and type (a single tensor is taken as a list of one).

    Example:
        >>> paddle.add_n([paddle.ones([2]), paddle.ones([2])]).tolist()
        [2.0, 2.0]
    """
    return _add_n(tensors_of("add_n", [inputs] if isinstance(inputs, Tensor) else inputs, "inputs"))


@op(method=False, export=False, name="block_diag")
def _block_diag(inputs):
    blocks = [jnp.atleast_2d(each) for each in inputs]
    rows, columns = (sum(b.shape[i] for b in blocks) for i in (0, 1))
    out = jnp.zeros((rows, columns), blocks[0].dtype)
    row = column = 0
    for block in blocks:
        out = out.at[row : row + block.shape[0], column : column + block.shape[1]].set(block)
        row, column = row + block.shape[0], column + block.shape[1]
    return out


@api(method="block_diag")
def block_diag(inputs):
    """A matrix with the given matrices (vectors count as rows) along its diagonal and zeros elsewhere.

    Example:
        >>> paddle.block_diag([paddle.ones([1, 2]), paddle.ones([1, 1])]).tolist()
        [[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    listed = tensors_of("block_diag", inputs, "inputs")
    if any(each.ndim > 2 for each in listed):
        raise errors.ValueError_("block_diag: at most 2 dimensions are allowed")
    return _block_diag(listed)


@api(method=False)
def cartesian_prod(x):
    """All combinations of one element of each vector, shape [combinations, vectors]; a single vector as it is.

    Example:
        >>> paddle.cartesian_prod([paddle.to_tensor([1, 2]), paddle.to_tensor([3, 4])]).tolist()
        [[1, 3], [1, 4], [2, 3], [2, 4]]
    """
    listed = tensors_of("cartesian_prod", x)
    if any(each.ndim != 1 for each in listed):
        raise errors.ValueError_(f"cartesian_prod: the tensors must have one dimension, got {errors.describe(listed)}")
    if len(listed) == 1:
        return listed[0]
    from .creation import meshgrid

    return _stack([reshape(g, [-1]) for g in meshgrid(*listed)], 1)


@api
def combinations(x, r=2, with_replacement=False):
    """All choices of r elements of a vector in their order, shape [choices, r].

    Args:
        x: shape [n].
        r: how many elements, not negative.
        with_replacement: an element may be chosen more than once.

    Raises:
        TypeError: x is no vector.
        ValueError: r is no int, or negative.

    Example:
        >>> paddle.combinations(paddle.to_tensor([1, 2, 3])).tolist()
        [[1, 2], [1, 3], [2, 3]]
    """
    if tensor_of("combinations", x).ndim != 1:
        raise errors.TypeError_(f"combinations: x must have one dimension, got shape {list(x.shape)}")
    if isinstance(r, bool) or not isinstance(r, (int, np.integer)) or r < 0:
        raise errors.ValueError_(f"combinations: r must be an int of at least 0, got {r!r}")
    if r == 0:
        return x[:0]
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    choices = np.array(list(choose(range(x.shape[0]), r)), np.int64).reshape(-1, r)
    from .creation import to_tensor

    return x[to_tensor(choices)]
