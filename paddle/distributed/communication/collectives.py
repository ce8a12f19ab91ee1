"""Collective communication: the public functions, which check what they are given and fill the tensors."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from ...engine import errors
from ...engine.tensor import Tensor, _make
from ...engine.value import ABSTRACT
from .. import world
from . import watch
from .group import Group, member_group, rank_in
from .mesh import check_agreement, over_mesh
from .reduce_op import ReduceOp, name_of
from .task import Task, Transfer, failure


def tensor_in(value: Any, function: str, what: str = "tensor") -> Tensor:
    if not isinstance(value, Tensor):
        raise errors.ValueError_(f"{function}: {what} must be a Tensor, got {errors.describe(value)}")
    if not value.is_dense():
        raise errors.TypeError_(f"{function}: {what} must be a dense Tensor, got {errors.describe(value)}")
    if isinstance(value._value, ABSTRACT):
        raise errors.NotImplemented_(f"{function}: inside of a program or of to_static")
    return value


def tensors_in(values: Any, function: str, what: str, length: int | None = None) -> list[Tensor]:
    """A list of Tensors of one shape and type."""
    if not isinstance(values, (list, tuple)) or not values:
        raise errors.ValueError_(
            f"{function}: {what} must be a non-empty list of Tensors, got {errors.describe(values)}"
        )
    for i, value in enumerate(values):
        tensor_in(value, function, f"{what}[{i}]")
        first = values[0]
        if value.shape != first.shape or value.dtype is not first.dtype:
            raise errors.ValueError_(
                f"{function}: the tensors of {what} must have one shape and dtype; number 0 is {errors.describe(first)}, "
                f"number {i} {errors.describe(value)}"
            )
    if length is not None and len(values) != length:
        raise errors.ValueError_(
            f"{function}: {what} must have one tensor for each of the {length} ranks of the group, got {len(values)}"
        )
    return list(values)


def fill(tensor: Tensor, array: Any) -> None:
    """Put an array into a tensor; no gradient flows through it, as officially."""
    shape = tensor._value.shape
    tensor._storage.write(array if array.shape == shape else array.reshape(shape))
    tensor._storage.root.version += 1


def fill_list(into: Any, arrays: list, like: Tensor, function: str, what: str) -> None:
    """Put arrays into the tensors of a list, or new tensors into an empty one."""
    shape = like._value.shape
    if into:
        for tensor, array in zip(into, arrays):
            fill(tensor, array)
    else:
        into.extend(_make(a if a.shape == shape else a.reshape(shape)) for a in arrays)


def check_targets(into: Any, like: Tensor, length: int, function: str, what: str) -> None:
    if not isinstance(into, list):
        raise errors.ValueError_(f"{function}: {what} must be a list, got {errors.describe(into)}")
    if into:
        tensors_in(into, function, what, length)
        same(into[0], like, function, f"a tensor of {what}", "the tensor")


def same(one: Tensor, other: Tensor, function: str, what: str, than: str) -> None:
    if one.size != other.size or one.dtype is not other.dtype:
        raise errors.ValueError_(
            f"{function}: {what} must have the shape and dtype of {than}, {errors.describe(other)}, got "
            f"{errors.describe(one)}"
        )


def first_axis(tensor: Tensor, n: int, function: str, what: str) -> None:
    if tensor.ndim == 0 or tensor._value.shape[0] % n:
        raise errors.ValueError_(
            f"{function}: the first axis of {what} must be divisible by the number of ranks ({n}), got shape {tensor.shape}"
        )


def run(group: Group, function: str, what: str, tensors: list[Tensor], *details: Any) -> list:
    """The arrays that a collective gives, for tensors with elements."""
    arrays = [t._value for t in tensors]
    check_agreement(group, function, *details, *map(errors.describe, tensors))
    try:
        return over_mesh(group, what, arrays, *details)
    except jax.errors.JaxRuntimeError as error:
        raise failure(function, error) from None


def finish(function: str, arrays: list, sync_op: bool) -> Task:
    task = Task(function, arrays, bool(sync_op))
    if sync_op and arrays and arrays[0].device.platform == "cpu":  # errors are to show here
        with watch.inside(function):
            task.wait()
    return task


@errors.clean
def all_reduce(tensor: Tensor, op: Any = ReduceOp.SUM, group: Group | None = None, sync_op: bool = True) -> Task | None:
    """Combine a tensor of all processes; each gets the result, in place.

    Args:
        tensor: same shape and dtype in every process.
        op: a ReduceOp. Of bool tensors SUM and MAX are "any", PROD and MIN "all"; AVG of integers is rounded down.
        group: by default all processes.
        sync_op: wait for the result.

    Returns:
        A task with `wait()`; None outside of the group.

    Raises:
        RuntimeError: before `init_parallel_env`; a process ended.
        ValueError: no Tensor, an unknown `op`, MAX or MIN of complex numbers.

    Example:
        >>> import paddle.distributed as dist
        >>> x = paddle.to_tensor([1.0]); dist.all_reduce(x)  # doctest: +SKIP
    """
    tensor_in(tensor, "all_reduce")
    name = _op_for(op, tensor, "all_reduce")
    found = member_group(group, "all_reduce")
    if found is None:
        return None
    out = run(found, "all_reduce", "all_reduce", [tensor], name) if tensor.size else []
    if out:
        fill(tensor, out[0])
    return finish("all_reduce", out, sync_op)


def _op_for(op: Any, tensor: Tensor, function: str) -> str:
    name = name_of(op, function)
    if name in ("max", "min") and tensor.is_complex():
        raise errors.ValueError_(f"{function}: complex numbers have no order, so op cannot be ReduceOp.{name.upper()}")
    return name


@errors.clean
def all_gather(tensor_list: list, tensor: Tensor, group: Group | None = None, sync_op: bool = True) -> Task | None:
    """Give the tensor of every process to all processes.

    Args:
        tensor_list: an empty list, which gets one tensor for each rank, or a list of tensors that are filled.
        tensor: same shape and dtype in every process.
    """
    tensor_in(tensor, "all_gather")
    found = member_group(group, "all_gather")
    if found is None:
        return None
    check_targets(tensor_list, tensor, found.nranks, "all_gather", "tensor_list")
    out = _gathered(found, "all_gather", tensor)
    fill_list(tensor_list, out, tensor, "all_gather", "tensor_list")
    return finish("all_gather", out, sync_op)


def _gathered(group: Group, function: str, tensor: Tensor) -> list:
    return run(group, function, "all_gather", [tensor], True) if tensor.size else [tensor._value] * group.nranks


@errors.clean
def gather(
    tensor: Tensor, gather_list: list | None = None, dst: int = 0, group: Group | None = None, sync_op: bool = True
) -> Task | None:
    """Give the tensor of every process to the process `dst`, into `gather_list` (empty, or one tensor for each rank)."""
    tensor_in(tensor, "gather")
    found = member_group(group, "gather")
    if found is None:
        return None
    target = rank_in(found, dst, "gather", "dst")
    if found.rank == target:
        if gather_list is None:
            raise errors.ValueError_("gather: gather_list must be a list in the process dst, got None")
        check_targets(gather_list, tensor, found.nranks, "gather", "gather_list")
    out = _gathered(found, "gather", tensor)
    if found.rank == target:
        fill_list(gather_list, out, tensor, "gather", "gather_list")
    return finish("gather", out, sync_op)


@errors.clean
def broadcast(tensor: Tensor, src: int, group: Group | None = None, sync_op: bool = True) -> Task | None:
    """Give the tensor of the process `src` to all processes, in place."""
    tensor_in(tensor, "broadcast")
    found = member_group(group, "broadcast")
    if found is None:
        return None
    source = rank_in(found, src, "broadcast", "src")
    out = run(found, "broadcast", "broadcast", [tensor], source) if tensor.size else []
    if out and found.rank != source:
        fill(tensor, out[0])
    return finish("broadcast", out, sync_op)


@errors.clean
def reduce(
    tensor: Tensor, dst: int, op: Any = ReduceOp.SUM, group: Group | None = None, sync_op: bool = True
) -> Task | None:
    """Combine a tensor of all processes; the process `dst` gets the result, in place, the others keep theirs."""
    tensor_in(tensor, "reduce")
    name = _op_for(op, tensor, "reduce")
    found = member_group(group, "reduce")
    if found is None:
        return None
    target = rank_in(found, dst, "reduce", "dst")
    out = run(found, "reduce", "all_reduce", [tensor], name) if tensor.size else []
    if out and found.rank == target:
        fill(tensor, out[0])
    return finish("reduce", out, sync_op)


@errors.clean
def reduce_scatter(
    tensor: Tensor, tensor_list: Any, op: Any = ReduceOp.SUM, group: Group | None = None, sync_op: bool = True
) -> Task | None:
    """Combine lists of tensors of all processes; the process number r gets element r of the result.

    Args:
        tensor: gets the result.
        tensor_list: one tensor of its shape for each rank.
    """
    found = member_group(group, "reduce_scatter")
    if found is None:
        return None
    tensor_in(tensor, "reduce_scatter")
    given = tensors_in(tensor_list, "reduce_scatter", "tensor_list", found.nranks)
    same(tensor, given[0], "reduce_scatter", "tensor", "those of tensor_list")
    return reduce_parts(found, tensor, given, op, sync_op)


def reduce_parts(group: Group, tensor: Tensor, given: list[Tensor], op: Any, sync_op: bool) -> Task:
    name = _op_for(op, tensor, "reduce_scatter")
    out = run(group, "reduce_scatter", "reduce_scatter", given, name) if tensor.size else []
    if out:
        fill(tensor, out[0])
    return finish("reduce_scatter", out, sync_op)


@errors.clean
def scatter(
    tensor: Tensor, tensor_list: Any = None, src: int = 0, group: Group | None = None, sync_op: bool = True
) -> Task | None:
    """Give element r of the `tensor_list` of the process `src` to the process number r of the group.

    Args:
        tensor: gets it.
        tensor_list: one tensor of its shape for each rank; only that of `src` counts.
    """
    found = member_group(group, "scatter")
    if found is None:
        return None
    tensor_in(tensor, "scatter")
    source = rank_in(found, src, "scatter", "src")
    given = [tensor] * found.nranks
    if found.rank == source:
        given = tensors_in(tensor_list, "scatter", "tensor_list", found.nranks)
        same(tensor, given[0], "scatter", "tensor", "those of tensor_list")
    return scatter_parts(found, tensor, given, source, sync_op)


def scatter_parts(group: Group, tensor: Tensor, given: list[Tensor], source: int, sync_op: bool) -> Task:
    out = run(group, "scatter", "scatter", given, source) if tensor.size else []
    if out:
        fill(tensor, out[0])
    return finish("scatter", out, sync_op)


@errors.clean
def alltoall(
    out_tensor_list: list, in_tensor_list: list, group: Group | None = None, sync_op: bool = True
) -> Task | None:
    """Give element r of every process's list to the process number r of the group.

    Args:
        out_tensor_list: an empty list, or one tensor for each rank.
        in_tensor_list: one tensor for each rank, all of one shape and dtype.
    """
    found = member_group(group, "alltoall")
    if found is None:
        return None
    given = tensors_in(in_tensor_list, "alltoall", "in_tensor_list", found.nranks)
    check_targets(out_tensor_list, given[0], found.nranks, "alltoall", "out_tensor_list")
    out = run(found, "alltoall", "all_to_all", given, True) if given[0].size else [t._value for t in given]
    fill_list(out_tensor_list, out, given[0], "alltoall", "out_tensor_list")
    return finish("alltoall", out, sync_op)


@errors.clean
def alltoall_single(
    out_tensor: Tensor,
    in_tensor: Tensor,
    in_split_sizes: list[int] | None = None,
    out_split_sizes: list[int] | None = None,
    group: Group | None = None,
    sync_op: bool = True,
) -> Task | None:
    """Cut a tensor along its first axis and give part r to the process number r of the group.

    Args:
        out_tensor: gets the parts of all processes, one below the other.
        in_tensor: what is cut.
        in_split_sizes: the lengths of the parts, by default equal.
        out_split_sizes: the lengths of the parts that come, by default equal.

    Raises:
        ValueError: lengths that do not add up.
    """
    found = member_group(group, "alltoall_single")
    if found is None:
        return None
    function, n = "alltoall_single", found.nranks
    tensor_in(out_tensor, function, "out_tensor"), tensor_in(in_tensor, function, "in_tensor")
    if in_tensor.dtype is not out_tensor.dtype or in_tensor.ndim == 0 or in_tensor.shape[1:] != out_tensor.shape[1:]:
        raise errors.ValueError_(
            f"{function}: in_tensor and out_tensor must have one dtype and, behind the first axis, one shape; got "
            f"{errors.describe(in_tensor)} and {errors.describe(out_tensor)}"
        )
    in_split_sizes, out_split_sizes = _sizes(in_split_sizes), _sizes(out_split_sizes)
    if not in_split_sizes and not out_split_sizes:
        first_axis(in_tensor, n, function, "in_tensor")
        same(out_tensor, in_tensor, function, "out_tensor", "in_tensor")
        out = run(found, function, "all_to_all", [in_tensor], False) if in_tensor.size else []
        if out:
            fill(out_tensor, out[0])
        return finish(function, out, sync_op)
    ends_in = _split_ends(in_tensor, in_split_sizes, n, "in_split_sizes")
    ends_out = _split_ends(out_tensor, out_split_sizes, n, "out_split_sizes")
    return _exchange_uneven(found, out_tensor, in_tensor, ends_in, ends_out, sync_op)


def _sizes(sizes: Any) -> list:
    if not isinstance(sizes, (list, tuple, np.ndarray, Tensor, type(None))):
        raise errors.TypeError_(f"alltoall_single: split sizes must be a list of ints, got {errors.describe(sizes)}")
    return sizes.tolist() if isinstance(sizes, (Tensor, np.ndarray)) else list(sizes or ())


def _split_ends(tensor: Tensor, sizes: Any, n: int, what: str) -> np.ndarray:
    length = tensor._value.shape[0]
    if not sizes:
        first_axis(tensor, n, "alltoall_single", "a tensor without split sizes")
        sizes = [length // n] * n
    if len(sizes) != n or any(not isinstance(s, (int, np.integer)) or s < 0 for s in sizes) or sum(sizes) != length:
        raise errors.ValueError_(
            f"alltoall_single: {what} must be {n} lengths that add up to the first axis of the tensor ({length}), got {sizes}"
        )
    return np.cumsum([0, *sizes])


def _exchange_uneven(
    group: Group, out_tensor: Tensor, in_tensor: Tensor, ends_in: np.ndarray, ends_out: np.ndarray, sync_op: bool
) -> Task:
    """Messages instead of an XLA computation, which would be compiled for each set of lengths."""
    from .point_to_point import ALL_TO_ALL, receive_into, send_array

    own_in, own_out = (int(ends[group.rank + 1] - ends[group.rank]) for ends in (ends_in, ends_out))
    if own_in != own_out:
        raise errors.ValueError_(
            f"alltoall_single: this process gives itself {own_in} rows, but out_split_sizes says {own_out}"
        )
    check_agreement(group, "alltoall_single", "split sizes", in_tensor.dtype)
    whole, result = np.asarray(in_tensor._value), np.empty(out_tensor._value.shape, out_tensor._value.dtype)
    tickets = []
    for i, rank in enumerate(group.ranks):
        part = whole[ends_in[i] : ends_in[i + 1]]
        if i == group.rank:
            own = part
        else:
            send_array(part, rank, group, ALL_TO_ALL)
            tickets.append((i, world.current().mailbox.ticket(rank, ALL_TO_ALL + group.id)))
    result[ends_out[group.rank] : ends_out[group.rank + 1]] = own

    def complete() -> None:
        for i, ticket in tickets:
            rank = group.ranks[i]
            part = result[ends_out[i] : ends_out[i + 1]]
            part[...] = receive_into(part.shape, part.dtype, rank, group, ticket, ALL_TO_ALL, "alltoall_single")
        fill(out_tensor, jax.numpy.asarray(result))

    box = world.current().mailbox
    task = Transfer(
        "alltoall_single",
        complete,
        lambda: all(box.has(group.ranks[i], ALL_TO_ALL + group.id, t) for i, t in tickets),
    )
    if sync_op:
        task.wait()
    return task
