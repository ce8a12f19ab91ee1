"""Jacobians and Hessians of tensors that were computed already. Rows are computed when they are read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from ..engine import errors
from ..engine.autograd import grad
from ..engine.shape import Size
from ..engine.tensor import Tensor, _make
from ..ops.joining import concat, stack


class Jacobian(errors.Explains):
    """The matrix of derivatives d ys[i] / d xs[j], indexed like a tensor of shape [M, N] (or [B, M, N] for a batch).

    Only the rows that an index touches are computed, and each once. The result is differentiable.
    """

    def __init__(self, ys: Tensor, xs: Tensor | Sequence[Tensor], is_batched: bool = False, flat: bool = False):
        self._xs = list(xs) if isinstance(xs, (list, tuple)) else [xs]
        self._batched = is_batched
        lead = 1 if is_batched else 0
        if not flat:
            for value, what in [(ys, "ys")] + [(x, "xs") for x in self._xs]:
                allowed = (1, 2) if is_batched else (0, 1)
                if value.ndim not in allowed:
                    raise errors.ValueError_(
                        f"jacobian: {what} must have {allowed[0]} or {allowed[1]} dimensions "
                        f"{'with' if is_batched else 'without'} batch_axis, got {value.ndim}"
                    )
        self._ys = ys
        self._scalar = (ys.ndim == lead, flat is False and len(self._xs) == 1 and self._xs[0].ndim == lead)
        self._flat_ys = ys.reshape([ys.shape[0], -1] if is_batched else [-1])
        self._m = self._flat_ys.shape[-1]
        self._n = sum(int(np.prod(x.shape[lead:])) for x in self._xs)
        self._rows: dict[int, Tensor] = {}

    @property
    def shape(self) -> Size:
        """[M, N], with the batch in front where there is one; axes of 0-D tensors are left out."""
        dims = [d for d, scalar in zip((self._m, self._n), self._scalar) if not scalar]
        return Size(([self._ys.shape[0]] if self._batched else []) + dims)

    def _row(self, i: int) -> Tensor:
        row = self._rows.get(i)
        if row is None:
            one_hot = np.zeros(self._flat_ys.shape, self._flat_ys.dtype.numpy)
            one_hot[..., i] = 1
            grads = grad(
                self._flat_ys,
                self._xs,
                _make(jnp.asarray(one_hot)),
                retain_graph=True,
                create_graph=True,
                allow_unused=True,
            )
            parts = []
            for x, g in zip(self._xs, grads):
                g = _make(jnp.zeros_like(x._value)) if g is None else g
                parts.append(g.reshape([x.shape[0], -1] if self._batched else [-1]))
            row = self._rows[i] = parts[0] if len(parts) == 1 else concat(parts, axis=-1)
        return row

    def __getitem__(self, index: Any) -> Tensor:
        items = list(index) if isinstance(index, tuple) else [index]
        ndim = len(self.shape)
        if ndim == 0:
            return self._row(0)[0]
        if Ellipsis in items:
            at = items.index(Ellipsis)
            items[at : at + 1] = [slice(None)] * (ndim - len(items) + 1)
        items += [slice(None)] * (ndim - len(items))
        if len(items) > ndim:
            raise errors.IndexError_(f"jacobian: {len(items)} indices for {ndim} axes")
        lead = 1 if self._batched else 0
        if self._scalar[0]:
            matrix = self._row(0)
            if self._scalar[1]:
                matrix = matrix[..., 0]
            return matrix[tuple(items)]
        rows = items[lead]
        chosen = range(self._m)[rows]
        if isinstance(chosen, int):
            matrix, rest = self._row(chosen), items[:lead] + items[lead + 1 :]
        else:
            matrix = stack([self._row(i) for i in chosen], axis=lead)
            rest = items[:lead] + [slice(None)] + items[lead + 1 :]
        if self._scalar[1]:
            matrix = matrix[..., 0]
        return matrix[tuple(rest)] if rest else matrix

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self[...], name)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(shape={list(self.shape)})"


class Hessian(Jacobian):
    """The matrix of second derivatives of a scalar (or one a batch element), indexed like a tensor."""


def _nested(value: Any) -> bool:
    return isinstance(value, (list, tuple))


def _batched(batch_axis: int | None, name: str) -> bool:
    if batch_axis not in (None, 0):
        raise errors.ValueError_(f"{name}: batch_axis must be None or 0, got {batch_axis!r}")
    return batch_axis == 0


@errors.clean
def jacobian(ys: Any, xs: Any, batch_axis: int | None = None) -> Any:
    """The Jacobian of tensors with respect to tensors that they were computed from.

    Args:
        ys, xs: tensors of 0 or 1 dimensions (with `batch_axis=0`: of 1 or 2, the batch first), or sequences of them.
        batch_axis: None, or 0 when the first axis is a batch whose elements are independent.

    Returns:
        A Jacobian of shape [M, N] or [B, M, N]; a tuple of them when one argument is a sequence, a tuple of tuples when
        both are. Index it (``J[:]``) for tensors.

    Example:
        >>> x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
        >>> paddle.autograd.jacobian(x * x, x)[:].tolist()
        [[2.0, 0.0], [0.0, 4.0]]
    """
    batched = _batched(batch_axis, "jacobian")
    if _nested(ys) and _nested(xs):
        return tuple(tuple(Jacobian(y, x, batched) for x in xs) for y in ys)
    if _nested(ys):
        return tuple(Jacobian(y, xs, batched) for y in ys)
    if _nested(xs):
        return tuple(Jacobian(ys, x, batched) for x in xs)
    return Jacobian(ys, xs, batched)


@errors.clean
def hessian(ys: Tensor, xs: Any, batch_axis: int | None = None) -> Any:
    """The Hessian of a scalar tensor (with `batch_axis=0`: of one number a batch element).

    Args:
        ys: one element, or shape [B] or [B, 1] with a batch.
        xs: a tensor or a sequence of tensors, as in `jacobian`.
        batch_axis: None or 0.

    Returns:
        A Hessian of shape [N, N] or [B, N, N], or a tuple of tuples of them for a sequence.

    Raises:
        ValueError: `ys` has more than one element (a batch element).

    Example:
        >>> x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
        >>> paddle.autograd.hessian((x ** 3).sum(), x)[:].tolist()
        [[6.0, 0.0], [0.0, 12.0]]
    """
    batched = _batched(batch_axis, "hessian")
    per_element = int(np.prod(ys.shape[1:])) if batched else int(np.prod(ys.shape))
    if per_element != 1:
        raise errors.ValueError_(
            f"hessian: ys must be one number{' for each batch element' if batched else ''}, got shape {list(ys.shape)}"
        )
    inputs = list(xs) if _nested(xs) else [xs]
    y = ys.reshape([ys.shape[0]] if batched else [])
    first = []
    for x in inputs:
        (found,) = grad(y.sum(), [x], create_graph=True, allow_unused=True)
        first.append(x * 0 if found is None else found)
    table = tuple(tuple(Hessian(f, x, batched) for x in inputs) for f in first)
    return table if _nested(xs) else table[0][0]
