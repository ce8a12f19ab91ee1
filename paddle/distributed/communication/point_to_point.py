"""Transfers from one process to another. They travel as messages between the processes' memories, in order for each pair,
so that either side may come first and two processes may send to each other at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ...engine import errors
from ...engine.place import current_place
from ...engine.tensor import Tensor
from .. import world
from ..mailbox import ALIGNED
from ..processes import free_to_move
from .collectives import fill, tensor_in
from .group import Group, group_of, member_group, rank_in
from .task import Task, Transfer

# channels: the number of the group and one of these
TENSORS, ALL_TO_ALL, OBJECTS = 0, 1 << 40, 2 << 40
LARGE = 1 << 20  # bytes


def send_array(array: Any, to: int, group: Group, kind: int) -> None:
    value = np.ascontiguousarray(array)
    about = {"shape": np.shape(array), "dtype": value.dtype.name}
    world.current().mailbox.send(to, kind + group.id, about, memoryview(value.reshape(-1).view(np.uint8)))


def receive_into(
    shape: Any, dtype: Any, source: int, group: Group, ticket: int, kind: int, function: str
) -> np.ndarray:
    about, contents = world.current().mailbox.receive(source, kind + group.id, ticket, group.timeout)
    if np.prod(about["shape"], dtype=int) != np.prod(shape, dtype=int) or about["dtype"] != np.dtype(dtype).name:
        raise errors.ValueError_(
            f"{function}: rank {source} sent {about['dtype']}{about['shape']}, which does not fit into "
            f"{np.dtype(dtype).name}{list(shape)}"
        )
    return np.frombuffer(contents, dtype).reshape(shape)


def array_of(value: np.ndarray) -> Any:
    """The array of JAX. On the CPU a large one uses the memory of the message: copying takes new memory, which is slow."""
    whole = value.nbytes >= LARGE and value.dtype.kind in "fiu" and value.flags.writeable
    if whole and value.ctypes.data % ALIGNED == 0 and current_place().device().platform == "cpu":
        return free_to_move(jax.dlpack.from_dlpack(value))
    return jnp.asarray(value)


def _peer(group: Group, rank: Any, function: str, what: str) -> int:
    rank_in(group, rank, function, what)
    if rank == world.current().rank:
        raise errors.ValueError_(f"{function}: {what} is this process itself (rank {rank})")
    return int(rank)


@errors.clean
def isend(tensor: Tensor, dst: int, group: Group | None = None) -> Task | None:
    """Start to send a tensor to the process `dst`, which receives it with `recv` or `irecv`; returns a task.

    Raises ValueError for a rank outside of the group, or the own one.
    """
    return _send(tensor, dst, group, "isend", False)


def _send(tensor: Tensor, dst: int, group: Group | None, function: str, sync: bool) -> Task | None:
    tensor_in(tensor, function)
    found = member_group(group, function)
    if found is None:
        return None
    send_array(tensor._value, _peer(found, dst, function, "dst"), found, TENSORS)
    return Task(function, [], sync)


@errors.clean
def irecv(tensor: Tensor, src: int | None = None, group: Group | None = None) -> Task | None:
    """Start to receive a tensor from the process `src`; the tensor is filled when `wait()` of the task returns.

    Args:
        tensor: as many elements, of the same dtype, as are sent.
        src: a rank of the job.
        group: by default all processes.
    """
    return _receive(tensor, src, group, "irecv", False)


def _receive(tensor: Tensor, src: Any, group: Group | None, function: str, sync: bool) -> Task | None:
    tensor_in(tensor, function)
    found = member_group(group, function)
    if found is None:
        return None
    source = _peer(found, src, function, "src")
    box = world.current().mailbox
    ticket = box.ticket(source, TENSORS + found.id)

    def finish() -> None:
        like = tensor._value
        fill(tensor, array_of(receive_into(like.shape, like.dtype, source, found, ticket, TENSORS, function)))

    task = Transfer(function, finish, lambda: box.has(source, TENSORS + found.id, ticket))
    task._sync = sync
    if sync:
        task.wait()
    return task


@errors.clean
def send(tensor: Tensor, dst: int = 0, group: Group | None = None, sync_op: bool = True) -> Task | None:
    """Send a tensor to the process `dst`, which receives it with `recv` or `irecv`."""
    return _send(tensor, dst, group, "send", bool(sync_op))


@errors.clean
def recv(tensor: Tensor, src: int = 0, group: Group | None = None, sync_op: bool = True) -> Task | None:
    """Receive a tensor from the process `src`, in place; with sync_op=False when `wait()` of the task returns."""
    return _receive(tensor, src, group, "recv", bool(sync_op))


class P2POp:
    """One transfer of `batch_isend_irecv`.

    Args:
        op: `paddle.distributed.isend` or `paddle.distributed.irecv`.
        tensor: what is sent, or filled.
        peer: the rank of the other process.
        group: by default all processes.

    Raises:
        RuntimeError: another function.
        ValueError: no Tensor.
    """

    def __init__(self, op: Callable, tensor: Tensor, peer: int, group: Group | None = None):
        if op not in (isend, irecv):
            raise errors.RuntimeError_("P2POp: op must be paddle.distributed.isend or paddle.distributed.irecv")
        tensor_in(tensor, "P2POp")
        self.op = op
        self.tensor = tensor
        self.peer = peer
        self.group = group


@errors.clean
def batch_isend_irecv(p2p_op_list: list[P2POp]) -> list[Task]:
    """Start several transfers; returns their tasks.

    Raises RuntimeError for an empty list or one of other things than P2POp.

    Example:
        >>> import paddle.distributed as dist
        >>> ops = [dist.P2POp(dist.isend, x, 1), dist.P2POp(dist.irecv, y, 1)]  # doctest: +SKIP
        >>> for task in dist.batch_isend_irecv(ops): task.wait()  # doctest: +SKIP
    """
    if (
        not isinstance(p2p_op_list, (list, tuple))
        or not p2p_op_list
        or not all(isinstance(p, P2POp) for p in p2p_op_list)
    ):
        raise errors.RuntimeError_("batch_isend_irecv: p2p_op_list must be a non-empty list of P2POp")
    for p in p2p_op_list:  # before the first one is sent
        if (found := group_of(p.group, "batch_isend_irecv")).rank >= 0:
            _peer(found, p.peer, "batch_isend_irecv", "peer")
    tasks = [p.op(p.tensor, p.peer, p.group) for p in p2p_op_list]
    return [task for task in tasks if task is not None]
