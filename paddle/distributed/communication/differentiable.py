"""Collectives through which gradients flow, for models whose parts lie in several processes.

Each is a linear map from the tensors of all members to theirs, and its gradient the transposed map, which is one of them
again, so that derivatives of any order work:

- "copy": every member takes its tensor as it is; the gradient is the sum over the members. And the other way round.
- "part": a member takes its part along an axis of a tensor that all have; the gradient are the parts of all, "whole".
- "whole" of tensors that then go different ways: the gradient is the sum, of which a member takes its part, "sum_part".

They are operators that communicate inside of executables (see `engine.meshed`), also in programs.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
from jax import lax
from jax.sharding import Mesh

from ...autograd import PyLayer
from ...engine import errors
from ...engine.dispatch import dispatch
from ...engine.executable import Kernel
from ...engine.tensor import Tensor, _make
from ...engine.value import Value
from ...ops.joining import concat
from .collectives import tensor_in
from .group import Group
from .mesh import check_agreement
from .task import failure

_AXIS = "ranks"


def carry(tensor: Tensor, there: str, back: str, group: Group, axis: int = 0) -> Tensor:
    """Apply the map `there` to a tensor; its gradient goes through the map `back`.

    Args:
        tensor: same shape and dtype in every member of the group.
        there, back: "copy", "sum", "part", "whole" or "sum_part".
        group: the processes; with a single one nothing happens.
        axis: along which parts are cut and put together.

    Raises:
        ValueError: the axis cannot be divided.
    """
    return _carry(tensor, there, back, group, axis)


def plain(tensor: Tensor, what: str, group: Group, axis: int = 0) -> Tensor:
    """The same without a gradient; "max" as well."""
    return _carry(tensor, what, None, group, axis)


def _carry(tensor: Tensor, there: str, back: str | None, group: Group, axis: int) -> Tensor:
    if group.nranks == 1:
        return tensor
    name = f"{there}_over_ranks"
    if not isinstance(tensor, Tensor) or not tensor.is_dense() or isinstance(tensor._raw, jax.core.Tracer):
        tensor_in(tensor, name)
    axis %= max(tensor.ndim, 1)
    if there in ("part", "sum_part") and (tensor.ndim == 0 or tensor._raw.shape[axis] % group.nranks):
        raise errors.ValueError_(
            f"{name}: axis {axis} must be divisible by the number of ranks ({group.nranks}), got shape {tensor.shape}"
        )
    if not tensor.size:
        return _empty(tensor, there, group.nranks, axis)
    if there == "copy" and not isinstance(tensor._raw, Value):
        return tensor if back is None else _Same.apply(tensor, back, group, axis)
    check_agreement(group, name, errors.describe(tensor))
    try:
        return dispatch(_kernel(name, there, back, group.mesh, axis), (tensor,))
    except jax.errors.JaxRuntimeError as error:
        raise failure(name, error) from None


class _Same(PyLayer):
    """ "copy" without a copy: only the gradient travels. (What is recorded has to be an operator, see `_kernel`.)"""

    @staticmethod
    def forward(ctx: Any, tensor: Tensor, back: str, group: Group, axis: int) -> Tensor:
        ctx.way = back, "copy", group, axis
        return _make(tensor._raw)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        return _carry(gradient, *ctx.way)


def _empty(tensor: Tensor, there: str, n: int, axis: int) -> Tensor:
    """Nothing to send."""
    if there == "whole":
        return concat([tensor] * n, axis)
    return tensor if there in ("copy", "sum", "max") else tensor.slice([axis], [0], [tensor.shape[axis] // n])


@functools.cache
def _kernel(name: str, there: str, back: str | None, mesh: Mesh, axis: int) -> Kernel:
    if back is None:
        return Kernel(functools.partial(_BODIES[there], axis=axis), name, ("",), differentiable=False, mesh=mesh)
    return Kernel(_map(there, back, axis), name, ("",), mesh=mesh)


@functools.cache
def _map(there: str, back: str, axis: int) -> Callable:
    @jax.custom_vjp
    def move(x: Any) -> Any:
        return _BODIES[there](x, axis)

    def forward(x: Any) -> tuple:
        return move(x), None

    def backward(_: None, gradient: Any) -> tuple:
        return (_map(back, there, axis)(gradient),)

    move.defvjp(forward, backward)
    return move


def _part(x: Any, axis: int) -> Any:
    length = x.shape[axis] // lax.axis_size(_AXIS)
    return lax.dynamic_slice_in_dim(x, lax.axis_index(_AXIS) * length, length, axis)


_BODIES: dict[str, Callable] = {
    "copy": lambda x, axis: x,
    "sum": lambda x, axis: lax.psum(x, _AXIS),
    "max": lambda x, axis: lax.pmax(x, _AXIS),
    "part": _part,
    "whole": lambda x, axis: lax.all_gather(x, _AXIS, axis=axis, tiled=True),
    "sum_part": lambda x, axis: lax.psum_scatter(x, _AXIS, scatter_dimension=axis, tiled=True),
}
