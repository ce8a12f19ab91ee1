"""States as flat tables of parts, the names of the files of a checkpoint, and agreement among the processes."""

from __future__ import annotations

import dataclasses
import pickle
import re
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from ....engine import errors
from ....engine.place import put
from ....engine.tensor import Tensor
from ....utils import storage
from ... import world
from ...communication import objects
from ...communication.group import Group, group_of, is_initialized, member_group
from .metadata import LocalTensorMetadata, Metadata, read
from .sharded_weight import ShardedWeight, make_tp_sharded_weight_for_checkpoint

DATA = re.compile(r"(\d+)_(\d+)\.(distcp|safetensors)")
METADATA = re.compile(r"(\d+)\.metadata")
NUMBERS = (bool, int, float)


def flatten_state_dict(state_dict: dict[str, Any], function: str = "save_state_dict") -> tuple[dict, dict]:
    """({"model.w": value}, {"model.w": ("model", "w")}) of a nested state."""
    if not isinstance(state_dict, dict):
        raise errors.TypeError_(f"{function}: state_dict must be a dict, got {errors.describe(state_dict)}")
    flat: dict[str, Any] = {}
    names: dict[str, tuple] = {}

    def walk(value: Any, keys: tuple) -> None:
        if isinstance(value, dict):
            for k, v in value.items():
                if not isinstance(k, str):
                    raise errors.ValueError_(f"{function}: the keys of state_dict must be strings, got {k!r}")
                walk(v, (*keys, k))
            return
        name = ".".join(keys)
        if not isinstance(value, (Tensor, ShardedWeight, *NUMBERS)):
            raise errors.ValueError_(
                f"{function}: state_dict[{name!r}] must be a Tensor, a ShardedWeight, a number or a dict of such, got "
                f"{errors.describe(value)}"
            )
        if name in flat:
            raise errors.ValueError_(f"{function}: two entries of state_dict have the name {name!r}")
        flat[name], names[name] = value, keys

    walk(state_dict, ())
    return flat, names


def unflatten_state_dict(flat_state_dict: dict[str, Any], mapping: dict[str, tuple]) -> dict[str, Any]:
    """The nested state of a flat one."""
    out: dict[str, Any] = {}
    for name, value in flat_state_dict.items():
        inner = out
        for key in mapping[name][:-1]:
            inner = inner.setdefault(key, {})
        inner[mapping[name][-1]] = value
    return out


@dataclasses.dataclass
class Part:
    """What this process has of a tensor: `held` gives the elements, `fill` puts others in their place."""

    about: LocalTensorMetadata
    held: Callable[[], np.ndarray]
    fill: Callable[[np.ndarray], Any] | None
    name: str

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the elements that are kept."""
        flat = self.about.flattened_range
        return self.about.local_shape if flat is None else (flat[1] - flat[0],)


def part_of(key: str, value: Any) -> Part | None:
    """The part of a tensor that this process has, None where it has none."""
    if isinstance(value, NUMBERS):
        array = np.asarray(value)
        if array.dtype == object:
            raise errors.ValueError_(f"save_state_dict: the number of {key!r} does not fit into 64 bits, got {value}")
        return Part(LocalTensorMetadata((), (), array.dtype.name, ()), lambda: array, None, key)
    if isinstance(value, Tensor) and not value.is_dist() and value.is_distributed:
        axis = getattr(value, "split_axis", None)
        if axis is None:
            raise errors.ValueError_(
                f"save_state_dict: {key!r} is divided over the processes (is_distributed); give a ShardedWeight, which "
                "says how"
            )
        value = make_tp_sharded_weight_for_checkpoint(key, value, axis)
    if isinstance(value, ShardedWeight):
        return _sharded(value)
    if value.is_dist():
        return _distributed(value)
    shape = tuple(value._value.shape)
    about = LocalTensorMetadata((0,) * len(shape), shape, value.dtype.name, shape)
    return Part(about, lambda: np.asarray(value._value), lambda a: write(value, put(a)), value.name)


def write(tensor: Tensor, array: Any) -> None:
    tensor._storage.write(array)
    tensor._storage.root.version += 1


def _sharded(w: ShardedWeight) -> Part:
    tensor, flat = w.local_tensor, None
    if w.is_flattened:
        flat = int(w.flattened_range.start or 0), int(w.flattened_range.stop)  # type: ignore[union-attr]
        if tensor.size != flat[1] - flat[0]:
            raise errors.ValueError_(
                f"save_state_dict: {w.key!r}: local_tensor has {tensor.size} elements, flattened_range {flat}"
            )
    about = LocalTensorMetadata(w.global_offset, w.local_shape, tensor.dtype.name, w.global_shape, w.is_flattened, flat)
    shape = tuple(tensor._value.shape)
    return Part(about, lambda: np.asarray(tensor._value), lambda a: write(tensor, put(a.reshape(shape))), tensor.name)


def _distributed(x: Tensor) -> Part | None:
    from ...auto_parallel.api import _sharding, spread

    array = spread(x._value, _sharding(x))
    shape, sharding = tuple(array.shape), array.sharding
    if array.is_fully_addressable:
        offset, local = (0,) * len(shape), shape
        part = array
    else:
        if not array.addressable_shards:
            return None
        shard = array.addressable_shards[0]
        offset, local = tuple(s.start or 0 for s in shard.index), tuple(shard.data.shape)
        part = shard.data

    def fill(elements: np.ndarray) -> None:
        def at(index: tuple) -> np.ndarray:
            whole = tuple(
                slice((s.start or 0) - o, None if s.stop is None else s.stop - o) for s, o in zip(index, offset)
            )
            return elements[whole]

        write(x, jax.make_array_from_callback(shape, sharding, at, dtype=array.dtype))

    about = LocalTensorMetadata(offset, local, x.dtype.name, shape)
    return Part(about, lambda: np.asarray(part), fill, x.name)


# ---- files ----
def metadata_of(path: Any, number: int, function: str) -> Metadata:
    """The metadata of a version. FileNotFoundError, or ValueError where it is damaged."""
    file = storage.join(path, f"{number}.metadata")
    try:
        return read(storage.read(file))
    except ValueError as error:
        raise type(error)(f"{function}: {file!r} cannot be read: {error}") from None


def newest(names: list[str]) -> int | None:
    """The highest number of a version that is complete."""
    numbers = [int(m[1]) for m in map(METADATA.fullmatch, names) if m]
    return max(numbers) if numbers else None


def check_id(unique_id: Any, function: str) -> None:
    if unique_id is not None and (isinstance(unique_id, bool) or not isinstance(unique_id, int) or unique_id < 0):
        raise errors.ValueError_(f"{function}: unique_id must be a non-negative int or None, got {unique_id!r}")


# ---- several processes ----
def members(process_group: Group | None, function: str) -> tuple[Group | None, bool]:
    """(the group if it has several members, whether this process takes part)."""
    if process_group is None and not is_initialized():
        if world.size_of_environment() == 1:
            return None, True
        from ...parallel import init_parallel_env

        init_parallel_env()
    found = member_group(group_of(process_group, function), function)
    return (found if found is not None and found.nranks > 1 else None), found is not None


def agree(group: Group | None, function: str, work: Callable[[], Any]) -> list:
    """What `work` gives in every process; when it fails somewhere, an error everywhere, which names the rank."""
    failed: Exception | None = None
    note: Any = None
    try:
        note = work()
    except Exception as error:
        failed = error
    if group is None:
        if failed is not None:
            raise failed
        return [note]
    found = objects.exchange((None if failed is None else f"{failed}", note), group, function)
    if failed is not None:
        raise failed
    report(function, {r: text for r, (text, _) in zip(group.ranks, found) if text is not None})
    return [note for _, note in found]


def report(function: str, failed: dict[int, str]) -> None:
    """RuntimeError when something failed in other processes."""
    if failed:
        raise errors.RuntimeError_(
            f"{function}: it failed in rank {', '.join(map(str, failed))}: {next(iter(failed.values()))}"
        )


def tell(group: Group, key: str, note: str) -> None:
    world.current().store.set(f"checkpoint/{group.id}/{key}", pickle.dumps(note))


def heard(group: Group, function: str, keys: list[str], ranks: list[int]) -> list[str]:
    """What the processes said under these keys. TimeoutError naming those that said nothing."""
    from ...store import Timeout

    store = world.current().store
    full = [f"checkpoint/{group.id}/{key}" for key in keys]
    silent = set(store.missing(full, group.timeout))
    if silent:
        names = ", ".join(str(r) for r, key in zip(ranks, full) if key in silent)
        raise Timeout(f"(ExecutionTimeout) {function}: rank {names} did not finish within {group.timeout:g} seconds")
    return [pickle.loads(store.get(key)) for key in full]
