"""Python objects between processes. They are pickled: receive them only from processes that you trust."""

from __future__ import annotations

import contextlib
import pickle
from collections.abc import Iterator
from typing import Any

from ...engine import errors
from .. import world
from .group import Group, member_group, rank_in
from .mesh import check_agreement
from .point_to_point import OBJECTS


def _pickled(value: Any, function: str) -> bytes:
    try:
        return pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    except Exception as error:
        raise errors.TypeError_(f"{function}: {errors.describe(value)} cannot be pickled ({error})") from None


def _send(contents: bytes, to: int, group: Group) -> None:
    world.current().mailbox.send(to, OBJECTS + group.id, {}, contents)


@contextlib.contextmanager
def _telling(ranks: list[int], group: Group) -> Iterator[None]:
    """An error before anything was sent is raised here, and sent to those that wait for an object."""
    try:
        yield
    except Exception as error:
        for rank in ranks:
            if rank != world.current().rank:
                world.current().mailbox.send(rank, OBJECTS + group.id, {"failed": f"{error}"}, b"")
        raise


def _message(source: int, group: Group) -> tuple[dict, Any]:
    box = world.current().mailbox
    channel = OBJECTS + group.id
    return box.receive(source, channel, box.ticket(source, channel), group.timeout)


def _object(message: tuple[dict, Any], source: int, function: str) -> Any:
    about, contents = message
    if "failed" in about:
        raise errors.RuntimeError_(f"{function}: it failed in rank {source}: {about['failed']}")
    return pickle.loads(contents)


def _receive(source: int, group: Group, function: str) -> Any:
    return _object(_message(source, group), source, function)


def exchange(value: Any, group: Group, function: str) -> list:
    """The values of all members. Whatever fails, the message of each of them is taken, so that the next call gets others."""
    own = world.current().rank
    others = [rank for rank in group.ranks if rank != own]
    try:
        with _telling(others, group):
            contents = _pickled(value, function) if others else b""
    except Exception:
        for rank in others:
            _message(rank, group)
        raise
    for rank in others:
        _send(contents, rank, group)
    messages = {rank: _message(rank, group) for rank in others}
    return [value if rank == own else _object(messages[rank], rank, function) for rank in group.ranks]


def spread(value: Any, source: int, group: Group, function: str) -> Any:
    """The value of the process `source`, a rank of the job."""
    if world.current().rank != source:
        return _receive(source, group, function)
    with _telling(group.ranks, group):
        contents = b"" if group.nranks == 1 else _pickled(value, function)
    for rank in group.ranks:
        if rank != source:
            _send(contents, rank, group)
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
    if own != src:
        out_object_list[:] = [_receive(src, found, function)]
        return
    with _telling(found.ranks, found):
        if not isinstance(in_object_list, (list, tuple)) or len(in_object_list) != found.nranks:
            raise errors.ValueError_(
                f"{function}: in_object_list must have one object for each of the {found.nranks} ranks, got "
                f"{errors.describe(in_object_list)}"
            )
        contents = {r: _pickled(value, function) for r, value in zip(found.ranks, in_object_list) if r != own}
    for rank, content in contents.items():
        _send(content, rank, found)
    out_object_list[:] = [in_object_list[found.rank]]


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
    target = _named(found, dst, dst_in_group, "send_object_list", "dst")
    with _telling([target], found):
        contents = _pickled(object_list, "send_object_list")
    _send(contents, target, found)


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
    if not isinstance(object_list, list):
        raise errors.TypeError_(f"{function}: object_list must be a list, got {errors.describe(object_list)}")
    got = _receive(source, found, function)
    if len(got) != len(object_list):
        raise errors.ValueError_(
            f"{function}: rank {source} sent {len(got)} objects, object_list has {object_list!r:.80}"
        )
    object_list[:] = got
    return source


def _named(group: Group, rank: int | None, in_group: int | None, function: str, what: str) -> int:
    if (rank is None) == (in_group is None):
        raise errors.ValueError_(f"{function}: give either {what} or {what}_in_group")
    if in_group is not None:
        if isinstance(in_group, bool) or not isinstance(in_group, int) or not 0 <= in_group < group.nranks:
            raise errors.ValueError_(
                f"{function}: {what}_in_group must be from 0 to {group.nranks - 1}, got {in_group!r}"
            )
        return group.ranks[in_group]
    rank_in(group, rank, function, what)  # type: ignore[arg-type]
    return int(rank)  # type: ignore[arg-type]
