"""Python objects between processes. They are pickled: receive them only from processes that you trust."""

from __future__ import annotations

import pickle
from typing import Any

from ...engine import errors
from .. import world
from .group import Group, member_group, rank_in
from .mesh import check_agreement
from .point_to_point import OBJECTS


def _send(value: Any, to: int, group: Group, function: str) -> None:
    try:
        contents = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    except Exception as error:
        raise errors.TypeError_(f"{function}: {errors.describe(value)} cannot be pickled ({error})") from None
    world.current().mailbox.send(to, OBJECTS + group.id, {}, contents)


def _receive(source: int, group: Group) -> Any:
    box = world.current().mailbox
    channel = OBJECTS + group.id
    return pickle.loads(box.receive(source, channel, box.ticket(source, channel), group.timeout)[1])


def exchange(value: Any, group: Group, function: str) -> list:
    """The values of all members."""
    own = world.current().rank
    for rank in group.ranks:
        if rank != own:
            _send(value, rank, group, function)
    return [value if rank == own else _receive(rank, group) for rank in group.ranks]


def spread(value: Any, source: int, group: Group, function: str) -> Any:
    """The value of the process `source`, a rank of the job."""
    if world.current().rank != source:
        return _receive(source, group)
    for rank in group.ranks:
        if rank != source:
            _send(value, rank, group, function)
    return value


@errors.clean
def all_gather_object(object_list: list, obj: Any, group: Group | None = None) -> None:
    """Give a Python object of every process to all; they are appended to `object_list` in the order of the ranks."""
    found = member_group(group, "all_gather_object")
    if found is None:
        return
    if not isinstance(object_list, list):
        raise errors.TypeError_(f"all_gather_object: object_list must be a list, got {errors.describe(object_list)}")
    check_agreement(found, "all_gather_object")
    object_list.extend(exchange(obj, found, "all_gather_object"))


@errors.clean
def broadcast_object_list(object_list: list, src: int, group: Group | None = None) -> None:
    """Replace the objects of a list, in every process, by those of the process `src`."""
    found = member_group(group, "broadcast_object_list")
    if found is None:
        return
    rank_in(found, src, "broadcast_object_list", "src")
    if not isinstance(object_list, list) or not object_list:
        raise errors.ValueError_(
            f"broadcast_object_list: object_list must be a non-empty list, got {errors.describe(object_list)}"
        )
    check_agreement(found, "broadcast_object_list", src, len(object_list))
    object_list[:] = spread(object_list, src, found, "broadcast_object_list")


@errors.clean
def scatter_object_list(
    out_object_list: list, in_object_list: list | None = None, src: int = 0, group: Group | None = None
) -> None:
    """Give element r of the list of the process `src` to the process number r, as the one element of `out_object_list`."""
    function = "scatter_object_list"
    found = member_group(group, function)
    if found is None:
        return
    rank_in(found, src, function, "src")
    if not isinstance(out_object_list, list):
        raise errors.TypeError_(f"{function}: out_object_list must be a list, got {errors.describe(out_object_list)}")
    check_agreement(found, function, src)
    own = world.current().rank
    if own == src:
        if not isinstance(in_object_list, (list, tuple)) or len(in_object_list) != found.nranks:
            raise errors.ValueError_(
                f"{function}: in_object_list must have one object for each of the {found.nranks} ranks, got "
                f"{errors.describe(in_object_list)}"
            )
        for rank, value in zip(found.ranks, in_object_list):
            if rank != own:
                _send(value, rank, found, function)
        out_object_list[:] = [in_object_list[found.rank]]
    else:
        out_object_list[:] = [_receive(src, found)]


@errors.clean
def send_object_list(
    object_list: list, dst: int | None = None, group: Group | None = None, dst_in_group: int | None = None
) -> None:
    """Send a list of objects to a process, named by its rank in the job (`dst`) or in the group."""
    found = member_group(group, "send_object_list")
    if found is None:
        return
    if not isinstance(object_list, list) or not object_list:
        raise errors.ValueError_(f"send_object_list: object_list must be a non-empty list, got {object_list!r}")
    _send(object_list, _named(found, dst, dst_in_group, "send_object_list", "dst"), found, "send_object_list")


@errors.clean
def recv_object_list(
    object_list: list, src: int | None = None, group: Group | None = None, src_in_group: int | None = None
) -> int | None:
    """Receive a list of objects of the same length from a process, in place; returns its rank."""
    function = "recv_object_list"
    found = member_group(group, function)
    if found is None:
        return None
    source = _named(found, src, src_in_group, function, "src")
    got = _receive(source, found)
    if not isinstance(object_list, list) or len(got) != len(object_list):
        raise errors.ValueError_(
            f"{function}: rank {source} sent {len(got)} objects, object_list has {object_list!r:.80}"
        )
    object_list[:] = got
    return source


def _named(group: Group, rank: int | None, in_group: int | None, function: str, what: str) -> int:
    if (rank is None) == (in_group is None):
        raise errors.ValueError_(f"{function}: give either {what} or {what}_in_group")
    if in_group is not None:
        if not 0 <= in_group < group.nranks:
            raise errors.ValueError_(
                f"{function}: {what}_in_group must be from 0 to {group.nranks - 1}, got {in_group}"
            )
        return group.ranks[in_group]
    rank_in(group, rank, function, what)  # type: ignore[arg-type]
    return int(rank)  # type: ignore[arg-type]
