"""Collectives through which gradients flow, for models whose parts lie in several processes.

Each is a linear map from the tensors of all members to theirs, and its gradient the transposed map, which is one of them
again, so that derivatives of any order work:

- "copy": every member takes its tensor as it is; the gradient is the sum over the members. And the other way round.
- "part": a member takes its part along an axis of a tensor that all have; the gradient are the parts of all, "whole".
- "whole" of tensors that then go different ways: the gradient is the sum, of which a member takes its part, "sum_part".

In programs they are operators that run between two executables.
"""

from __future__ import annotations

import functools
from typing import Any

import jax

from ...autograd import PyLayer
from ...engine import errors
from ...engine.modes import modes
from ...engine.tensor import Tensor, _make
from ...engine.value import Value
from ...ir.record import HostKernel
from .collectives import run, tensor_in
from .group import Group

_COLLECTIVES = {"sum": "all_reduce", "max": "all_reduce", "whole": "gather_along", "sum_part": "reduce_scatter_along"}


def carry(tensor: Tensor, there: str, back: str, group: Group, axis: int = 0) -> Tensor:
    """Apply the map `there` to a tensor; its gradient goes through the map `back`.

    Args:
        tensor: same shape and dtype in every member of the group.
        there, back: "copy", "sum", "part", "whole" or "sum_part".
        group: the processes; with a single one nothing happens.
        axis: along which parts are cut and put together.
    """
    if group.nranks == 1:
        return tensor
    if not isinstance(tensor, Tensor) or not isinstance(tensor._raw, Value):
        tensor_in(tensor, there)
    return _Carry.apply(tensor, there, back, group, axis % max(tensor.ndim, 1))


class _Carry(PyLayer):
    @staticmethod
    def forward(ctx: Any, tensor: Tensor, there: str, back: str, group: Group, axis: int) -> Tensor:
        ctx.way = there, back, group, axis
        return plain(tensor, there, group, axis)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        there, back, group, axis = ctx.way
        return _Carry.apply(gradient, back, there, group, axis)


def plain(tensor: Tensor, what: str, group: Group, axis: int = 0) -> Tensor:
    """The same without a gradient; "max" as well."""
    if what == "copy" or group.nranks == 1:
        return tensor
    if what in ("part", "sum_part") and tensor._raw.shape[axis] % group.nranks:
        raise errors.ValueError_(
            f"{what}: axis {axis} must be divisible by the number of ranks ({group.nranks}), got shape {tensor.shape}"
        )
    if what == "part":
        length = tensor._raw.shape[axis] // group.nranks
        return tensor.slice([axis], [group.rank * length], [(group.rank + 1) * length])
    if isinstance(tensor._raw, Value):
        return modes.program.record(_kernel(what, group, axis), (tensor,))
    return _make(_moved(tensor, what, group, axis))


def _moved(tensor: Tensor, what: str, group: Group, axis: int) -> Any:
    shape = tensor._raw.shape
    if not tensor.size:
        return jax.numpy.zeros(_shape(shape, what, group.nranks, axis), tensor._value.dtype)
    details = what if what in ("sum", "max") else axis
    (found,) = run(group, what, _COLLECTIVES[what], [tensor], details)
    return found.reshape(shape) if found.ndim != len(shape) else found


def _shape(shape: tuple, what: str, n: int, axis: int) -> tuple:
    if what in ("sum", "max"):
        return shape
    length = shape[axis] * n if what == "whole" else shape[axis] // n
    return (*shape[:axis], length, *shape[axis + 1 :])


@functools.cache
def _kernel(what: str, group: Group, axis: int) -> HostKernel:
    def moved(tensor: Tensor) -> Tensor:
        return _make(_moved(tensor, what, group, axis))

    def infer(specs: list, trial: int) -> tuple:
        (spec,) = specs
        return _shape(spec.shape, what, group.nranks, axis), spec.dtype

    return HostKernel(moved, f"{what}_over_group_{group.id}", ("",), infer)
