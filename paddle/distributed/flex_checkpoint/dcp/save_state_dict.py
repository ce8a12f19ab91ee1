"""Writing a checkpoint in parts.

Each process writes one file; when all are on disk the coordinator writes the metadata, which name them, in one step. A
version that is overwritten gets files with other names, and the old ones go when the new metadata are there: whoever reads,
also after a crash at any moment, finds the old or the new version whole.
"""

from __future__ import annotations

import atexit
import pickle
import re
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from ....engine import errors
from ....framework import io
from ....utils import storage
from ....utils.files import atomic_write
from ... import world
from ...communication.group import Group
from .metadata import LocalTensorIndex, LocalTensorMetadata, Metadata, dump
from .utils import (
    DATA,
    METADATA,
    Part,
    agree,
    check_id,
    flatten_state_dict,
    heard,
    members,
    metadata_of,
    part_of,
    report,
    tell,
)

NAME = "save_state_dict"
_LEFT_OVER = re.compile(r"\.(\d+)(?:_(\d+))?\.(?:distcp|safetensors|metadata)\.\d+\.[0-9a-f]+\.tmp")
_running: list[threading.Thread] = []
_failures: list[BaseException] = []
_told: dict[int, tuple[str, str]] = {}  # by the number of the group


@errors.clean
def save_state_dict(
    state_dict: dict[str, Any],
    path: str,
    process_group: Group | None = None,
    coordinator_rank: int = 0,
    unique_id: int | None = None,
    async_save: bool = False,
    safetensors: bool = False,
    save_replicas: bool = False,
) -> None:
    """Save a state in parts: each process writes what it has of the tensors, and what all have alike is written once. All
    processes of the group call it.

    Args:
        state_dict: nested dicts of Tensors (distributed ones, too), ShardedWeights and numbers.
        path: a folder that all processes see, or an address such as "s3://bucket/run".
        process_group: by default all processes.
        coordinator_rank: the process that writes the metadata.
        unique_id: the number of the version; one that exists is replaced in one step. None: the highest one there, 0 in
            an empty folder.
        async_save: copy the values and write in the background. An error is raised by the next save, or by
            `clear_async_save_task_queue`.
        safetensors: files in that format.
        save_replicas: also write what other processes have alike.

    Raises:
        ValueError: an entry that is no tensor, an unknown rank, a negative `unique_id`.
        RuntimeError: writing failed, here or in another process (the message names its rank); the version that was there
            before stays.

    Example:
        >>> import paddle.distributed as dist
        >>> dist.save_state_dict({"model": {"w": paddle.ones([2, 2])}, "epoch": 3}, "checkpoint")
        >>> dist.load_merged_state_dict("checkpoint")["epoch"].item()
        3
    """
    clear_async_save_task_queue()
    group, takes_part = members(process_group, NAME)
    if not takes_part:
        return
    ranks = [0] if group is None else group.ranks
    rank = ranks[0 if group is None else group.rank]
    leads = coordinator_rank == rank

    def plan() -> tuple:
        check_id(unique_id, NAME)
        if coordinator_rank not in ranks:
            raise errors.ValueError_(f"{NAME}: coordinator_rank must be one of {ranks}, got {coordinator_rank!r}")
        flat, names = flatten_state_dict(state_dict, NAME)
        found = {key: part for key, value in flat.items() if (part := part_of(key, value)) is not None}
        parts.update(found)
        where = _place(path, unique_id, safetensors) if leads else None
        return {key: part.about for key, part in found.items()}, names, unique_id, where

    parts: dict[str, Part] = {}
    notes = agree(group, NAME, plan)
    if any(note[2] != unique_id for note in notes):
        given = ", ".join(f"rank {r}: {note[2]}" for r, note in zip(ranks, notes))
        raise errors.ValueError_(f"{NAME}: unique_id must be the same in all processes, got {given}")
    number, first = next(note[3] for note in notes if note[3] is not None)
    kind = "safetensors" if safetensors else "distcp"
    files = [f"{first + r}_{number}.{kind}" for r in ranks]
    metadata, mine = _divide([note[0] for note in notes], files, ranks.index(rank), save_replicas)
    for note in notes:
        for key, nested in note[1].items():
            metadata.flat_mapping.setdefault(key, nested)  # type: ignore[union-attr]
    arrays = {key: _kept(parts[key], async_save) for key in mine}
    table = {key: parts[key].name for key in mine}
    file = files[ranks.index(rank)]
    turn = 0 if group is None else group.next_number()

    def write() -> None:
        _together(
            group,
            turn,
            rank,
            coordinator_rank,
            lambda: _write(storage.join(path, file), arrays, table),
            lambda: _commit(path, number, metadata),
        )

    if async_save:
        _start(write)
    else:
        write()


def _place(path: Any, unique_id: int | None, safetensors: bool) -> tuple[int, int]:
    """The number of the version, and that of the first file, so that none of a version that is replaced is touched."""
    names = storage.names(path)
    if unique_id is None:
        unique_id = max((int(m[1]) for n in names if (m := METADATA.fullmatch(n))), default=0)
    taken: set[int] = set()
    if f"{unique_id}.metadata" in names:
        try:
            used = (metadata_of(path, unique_id, NAME).storage_metadata or {}).values()
        except ValueError:  # damaged: nothing to save
            used = ()  # type: ignore[assignment]
        taken = {int(m[1]) for n in used if (m := DATA.fullmatch(n))}
    size = world.current().size if world.is_connected() else 1
    first = 0
    while any(first <= n < first + size for n in taken):
        first += size
    return unique_id, first


def _divide(
    had: list[dict[str, LocalTensorMetadata]], files: list[str], own: int, replicas: bool
) -> tuple[Metadata, list[str]]:
    """Who writes which part: the metadata, and the keys for this process. Parts that several have go to the one with the
    fewest bytes so far."""
    owners: dict[tuple, list[int]] = {}
    for i, parts in enumerate(had):
        for key, about in parts.items():
            owners.setdefault((key, about), []).append(i)
    load = [0] * len(had)
    metadata = Metadata({}, {}, {})
    mine = []
    for (key, about), who in owners.items():
        for other in metadata.state_dict_metadata.get(key, ())[:1]:  # type: ignore[union-attr]
            if (other.global_shape, other.dtype) != (about.global_shape, about.dtype):
                raise errors.ValueError_(
                    f"{NAME}: the processes have tensors {key!r} of shape {list(other.global_shape or ())} "
                    f"({other.dtype}) and {list(about.global_shape or ())} ({about.dtype}); of a divided tensor give "
                    "ShardedWeights, which say how"
                )
        chosen = min(who, key=lambda i: (load[i], i))
        load[chosen] += _size(about)
        metadata.state_dict_metadata.setdefault(key, []).append(about)  # type: ignore[union-attr]
        copies = [chosen, *(i for i in who if i != chosen)] if replicas else [chosen]
        for number, i in enumerate(copies):
            index = LocalTensorIndex(
                key,
                about.global_offset,
                about.is_flattened,
                about.flattened_range,
                number if replicas else None,
                about.local_shape,
            )
            metadata.storage_metadata[index] = files[i]  # type: ignore[index]
            if i == own:
                mine.append(key)
    return metadata, mine


def _size(about: LocalTensorMetadata) -> int:
    bits = re.search(r"\d+", about.dtype)
    return int(np.prod(about.local_shape, dtype=int)) * (int(bits[0]) if bits else 8) // 8


def _kept(part: Part, copy: bool) -> np.ndarray:
    array = part.held()
    return np.array(array) if copy else array


def _write(file: str, arrays: dict[str, np.ndarray], table: dict[str, str]) -> None:
    if file.endswith(".safetensors"):
        contents = io._safetensors(arrays)
        with atomic_write(file) as f:
            f.write(contents)
        return
    packed: dict[str, Any] = {}
    for key, array in arrays.items():
        if array.dtype == np.uint16:
            raise errors.ValueError_(f"{NAME}: {key!r} has the type uint16, which means bfloat16 in this format")
        packed[key] = array.view(np.uint16) if array.dtype.name == "bfloat16" else array
    with atomic_write(file) as f:
        pickle.dump({**packed, io._TABLE: table}, f, 4)


def _commit(path: Any, number: int, metadata: Metadata) -> None:
    """From here on the version is the new one."""
    with atomic_write(storage.join(path, f"{number}.metadata")) as f:
        f.write(dump(metadata))
    kept = set(metadata.storage_metadata.values())  # type: ignore[union-attr]
    for name in storage.names(path):
        old = DATA.fullmatch(name)
        rest = _LEFT_OVER.fullmatch(name)  # of processes that were killed
        if (old and int(old[2]) == number and name not in kept) or (rest and int(rest[2] or rest[1]) == number):
            storage.remove(storage.join(path, name))


def _together(
    group: Group | None, turn: int, rank: int, leader: int, write: Callable[[], None], commit: Callable[[], None]
) -> None:
    """Write in all processes; when all have, commit in one. Through the store, as this may be another thread."""
    if group is None:
        write()
        commit()
        return
    for key in _told.pop(group.id, ()):  # of the save before: all have heard it, as all have begun this one
        world.current().store.delete(f"checkpoint/{group.id}/{key}")
    _told[group.id] = f"{turn}/{rank}", f"{turn}/end"
    failed: Exception | None = None
    try:
        write()
    except Exception as error:
        failed = error
    tell(group, f"{turn}/{rank}", "" if failed is None else f"{type(failed).__name__}: {failed}")
    notes = heard(group, NAME, [f"{turn}/{r}" for r in group.ranks], group.ranks)
    if failed is not None:
        raise failed
    report(NAME, {r: note for r, note in zip(group.ranks, notes) if note})
    if rank == leader:
        try:
            commit()
        except Exception as error:
            tell(group, f"{turn}/end", f"{type(error).__name__}: {error}")
            raise
        tell(group, f"{turn}/end", "")
    else:
        (note,) = heard(group, NAME, [f"{turn}/end"], [leader])
        report(NAME, {leader: note} if note else {})


def _start(work: Callable[[], None]) -> None:
    def run() -> None:
        try:
            work()
        except BaseException as error:
            _failures.append(error)

    thread = threading.Thread(target=run, name="paddle-save-state-dict")
    _running.append(thread)
    thread.start()


def wait_for_saves() -> None:
    while _running:
        _running[0].join()
        _running.pop(0)


@errors.clean
def clear_async_save_task_queue() -> None:
    """Wait until what `save_state_dict(async_save=True)` started is on disk. RuntimeError when it failed.

    Example:
        >>> from paddle.distributed.flex_checkpoint.dcp.save_state_dict import clear_async_save_task_queue
        >>> clear_async_save_task_queue()
    """
    wait_for_saves()
    if _failures:
        error = _failures.pop()
        _failures.clear()
        raise errors.RuntimeError_(f"{NAME}: saving in the background failed: {error}") from error


@atexit.register
def _last_word() -> None:
    for error in _failures:
        print(f"[paddle-xla] {NAME}: saving in the background failed: {error}", file=sys.stderr)
