"""The collectives with the choice of the stream. XLA orders what depends on each other by itself, so that
`use_calc_stream=True`, which needs `sync_op=True`, changes nothing."""

from __future__ import annotations

from typing import Any

from ...engine import errors
from ...engine.tensor import Tensor
from . import collectives, point_to_point
from .collectives import fill, finish, first_axis, reduce_parts, run, tensor_in
from .group import Group, member_group, rank_in
from .reduce_op import ReduceOp
from .task import Task


def _check(function: str, sync_op: bool, use_calc_stream: bool) -> None:
    if use_calc_stream and not sync_op:
        raise errors.RuntimeError_(f"{function}: use_calc_stream=True needs sync_op=True")


def all_reduce(
    tensor: Tensor,
    op: Any = ReduceOp.SUM,
    group: Group | None = None,
    sync_op: bool = True,
    use_calc_stream: bool = False,
) -> Task | None:
    """See `paddle.distributed.all_reduce`."""
    _check("all_reduce", sync_op, use_calc_stream)
    return collectives.all_reduce(tensor, op, group, sync_op)


@errors.clean
def all_gather(
    tensor_or_tensor_list: Any,
    tensor: Tensor,
    group: Group | None = None,
    sync_op: bool = True,
    use_calc_stream: bool = False,
) -> Task | None:
    """See `paddle.distributed.all_gather`; into a list, or into one tensor that has room for all."""
    _check("all_gather", sync_op, use_calc_stream)
    if not isinstance(tensor_or_tensor_list, Tensor):
        return collectives.all_gather(tensor_or_tensor_list, tensor, group, sync_op)
    tensor_in(tensor, "all_gather")
    found = member_group(group, "all_gather")
    if found is None:
        return None
    into = tensor_or_tensor_list
    if into.size != tensor.size * found.nranks or into.dtype is not tensor.dtype:
        raise errors.ValueError_(
            f"all_gather: the result must have the dtype and {found.nranks} times the elements of "
            f"{errors.describe(tensor)}, got {errors.describe(into)}"
        )
    out = run(found, "all_gather", "all_gather", [tensor], False) if tensor.size else []
    if out:
        fill(into, out[0])
    return finish("all_gather", out, sync_op)


@errors.clean
def alltoall(
    out_tensor_or_tensor_list: Any,
    in_tensor_or_tensor_list: Any,
    group: Group | None = None,
    sync_op: bool = True,
    use_calc_stream: bool = False,
) -> Task | None:
    """See `paddle.distributed.alltoall`; of lists, or of two tensors that are cut along the first axis."""
    _check("alltoall", sync_op, use_calc_stream)
    out, given = out_tensor_or_tensor_list, in_tensor_or_tensor_list
    if isinstance(out, Tensor) != isinstance(given, Tensor):
        raise errors.RuntimeError_("alltoall: input and output must both be Tensors or both be lists of Tensors")
    if isinstance(out, Tensor):
        return collectives.alltoall_single(out, given, None, None, group, sync_op)
    return collectives.alltoall(out, given, group, sync_op)


def alltoall_single(
    out_tensor: Tensor,
    in_tensor: Tensor,
    out_split_sizes: list[int] | None = None,
    in_split_sizes: list[int] | None = None,
    group: Group | None = None,
    sync_op: bool = True,
    use_calc_stream: bool = False,
) -> Task | None:
    """See `paddle.distributed.alltoall_single`; note the other order of the split sizes."""
    _check("alltoall_single", sync_op, use_calc_stream)
    return collectives.alltoall_single(out_tensor, in_tensor, in_split_sizes, out_split_sizes, group, sync_op)


def broadcast(
    tensor: Tensor, src: int, group: Group | None = None, sync_op: bool = True, use_calc_stream: bool = False
) -> Task | None:
    """See `paddle.distributed.broadcast`."""
    _check("broadcast", sync_op, use_calc_stream)
    return collectives.broadcast(tensor, src, group, sync_op)


def gather(
    tensor: Tensor,
    gather_list: list | None = None,
    dst: int = 0,
    group: Group | None = None,
    sync_op: bool = True,
    use_calc_stream: bool = False,
) -> Task | None:
    """See `paddle.distributed.gather`."""
    _check("gather", sync_op, use_calc_stream)
    return collectives.gather(tensor, gather_list, dst, group, sync_op)


def recv(
    tensor: Tensor, src: int = 0, group: Group | None = None, sync_op: bool = True, use_calc_stream: bool = False
) -> Task | None:
    """See `paddle.distributed.recv`."""
    _check("recv", sync_op, use_calc_stream)
    return point_to_point.recv(tensor, src, group, sync_op)


def reduce(
    tensor: Tensor,
    dst: int = 0,
    op: Any = ReduceOp.SUM,
    group: Group | None = None,
    sync_op: bool = True,
    use_calc_stream: bool = False,
) -> Task | None:
    """See `paddle.distributed.reduce`."""
    _check("reduce", sync_op, use_calc_stream)
    return collectives.reduce(tensor, dst, op, group, sync_op)


@errors.clean
def reduce_scatter(
    tensor: Tensor,
    tensor_or_tensor_list: Any,
    op: Any = ReduceOp.SUM,
    group: Group | None = None,
    sync_op: bool = True,
    use_calc_stream: bool = False,
) -> Task | None:
    """See `paddle.distributed.reduce_scatter`; of a list, or of one tensor that is cut along the first axis."""
    _check("reduce_scatter", sync_op, use_calc_stream)
    given = tensor_or_tensor_list
    if not isinstance(given, Tensor):
        return collectives.reduce_scatter(tensor, given, op, group, sync_op)
    found = member_group(group, "reduce_scatter")
    if found is None:
        return None
    _whole(tensor, given, found, "reduce_scatter")
    return reduce_parts(found, tensor, [given], op, sync_op)


@errors.clean
def scatter(
    tensor: Tensor,
    tensor_or_tensor_list: Any = None,
    src: int = 0,
    group: Group | None = None,
    sync_op: bool = True,
    use_calc_stream: bool = False,
) -> Task | None:
    """See `paddle.distributed.scatter`; of a list, or of one tensor that is cut along the first axis."""
    _check("scatter", sync_op, use_calc_stream)
    given = tensor_or_tensor_list
    found = member_group(group, "scatter")
    if found is None:
        return None
    if isinstance(given, Tensor) and found.rank == rank_in(found, src, "scatter", "src"):
        _whole(tensor, given, found, "scatter")
        given = list(given.split(found.nranks))
    return collectives.scatter(tensor, given, src, group, sync_op)


def _whole(part: Tensor, whole: Tensor, group: Group, function: str) -> None:
    tensor_in(part, function)
    first_axis(tensor_in(whole, function, "the input"), group.nranks, function, "the input")
    if whole.size != part.size * group.nranks or whole.dtype is not part.dtype:
        raise errors.ValueError_(
            f"{function}: the input must have the dtype and {group.nranks} times the elements of tensor, "
            f"{errors.describe(part)}, got {errors.describe(whole)}"
        )


def send(
    tensor: Tensor, dst: int = 0, group: Group | None = None, sync_op: bool = True, use_calc_stream: bool = False
) -> Task | None:
    """See `paddle.distributed.send`."""
    _check("send", sync_op, use_calc_stream)
    return point_to_point.send(tensor, dst, group, sync_op)


__all__ = [
    "all_gather",
    "all_reduce",
    "alltoall",
    "alltoall_single",
    "broadcast",
    "gather",
    "recv",
    "reduce",
    "reduce_scatter",
    "scatter",
    "send",
]
