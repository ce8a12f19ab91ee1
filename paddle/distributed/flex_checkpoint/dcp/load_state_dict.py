"""Reading a checkpoint, by any number of processes and with any division of the tensors."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from ....engine import dtype as dtypes
from ....engine import errors
from ....engine.tensor import Tensor
from ....framework import io
from ....framework.unpickle import ArrayRecord, LoadError, restricted_load
from ....utils import storage
from ...communication.group import Group, barrier
from .metadata import LocalTensorIndex, LocalTensorMetadata, Metadata
from .save_state_dict import wait_for_saves
from .sharded_weight import ShardedWeight
from .utils import NUMBERS, agree, check_id, flatten_state_dict, members, metadata_of, newest, part_of

NAME = "load_state_dict"
_METHODS = ("send_recv", "broadcast", "multi_group_broadcast", "grouped_send_recv", "parallel_broadcast")
_TRIES = 5  # to read while another job replaces the version


class MissingKeys(KeyError, ValueError):
    """The checkpoint lacks keys."""

    def __str__(self) -> str:
        return str(self.args[0])


@errors.clean
def load_state_dict(
    state_dict: dict[str, Any],
    path: str,
    process_group: Group | None = None,
    coordinator_rank: int = 0,
    unique_id: int | None = None,
    offload: bool = False,
    mw_name_compatibility: bool = True,
    aoa_config: dict[str, list[str]] | None = None,
    safetensors: bool = False,
    worker_groups: list[Group] | None = None,
    comm_method: str = "broadcast",
) -> None:
    """Load a checkpoint into the tensors of a state, in place. How they are divided, and over how many processes, need
    not be as it was when they were saved: each process reads the files in which its own parts lie. All processes of the
    group call it. Nothing in the files is executed.

    Args:
        state_dict: nested dicts of what is to be loaded. Tensors keep their type (numbers of another floating point type
            are converted); a number is replaced in its dict. What is loaded into the state of an optimizer (its
            `state_dict()` or `sharded_state_dict(...)`) the optimizer takes over.
        path: the folder or address; all processes see it.
        process_group: by default all processes.
        coordinator_rank, offload, worker_groups, comm_method: for the official interface. Parts go from the files to the
            memory of the host and from there to the device.
        unique_id: the version, by default the highest one that is complete.
        mw_name_compatibility: accept both names of master weights ("master_weights.w", "w_fp32_master_0").
        aoa_config: not built.
        safetensors: files in that format; without metadata they are taken as whole tensors.

    Raises:
        FileNotFoundError: no such folder, or no complete version in it.
        KeyError: the checkpoint lacks keys.
        ValueError: a shape or type differs; a file is damaged or lacks parts.
        RuntimeError: it failed in another process; the message names its rank.

    Example:
        >>> import paddle.distributed as dist
        >>> dist.save_state_dict({"w": paddle.ones([2])}, "checkpoint")
        >>> state = {"w": paddle.zeros([2])}
        >>> dist.load_state_dict(state, "checkpoint"); state["w"].tolist()
        [1.0, 1.0]
    """
    if comm_method not in _METHODS:
        raise errors.ValueError_(f"{NAME}: comm_method must be one of {_METHODS}, got {comm_method!r}")
    if aoa_config is not None:
        raise errors.NotImplemented_(f"{NAME}: aoa_config")
    check_id(unique_id, NAME)
    wait_for_saves()
    group, takes_part = members(process_group, NAME)
    if not takes_part:
        return
    if group is not None:
        barrier(group)
    agree(group, NAME, lambda: _load(state_dict, path, unique_id, mw_name_compatibility, safetensors))


@errors.clean
def load_merged_state_dict(
    path: str,
    prefix: str | None = None,
    unique_id: int | None = None,
    offload: bool = False,
    aoa_config: dict[str, list[str]] | None = None,
    safetensors: bool = False,
) -> dict[str, Tensor]:
    """All tensors of a checkpoint, whole, by their flat keys.

    Args:
        path, unique_id, safetensors: as of `load_state_dict`.
        prefix: only the keys below it, such as "model"; it is taken off.
        offload: for the official interface.
        aoa_config: not built.

    Example:
        >>> import paddle.distributed as dist
        >>> dist.save_state_dict({"model": {"w": paddle.ones([2])}}, "checkpoint")
        >>> list(dist.load_merged_state_dict("checkpoint", prefix="model"))
        ['w']
    """
    function = "load_merged_state_dict"
    if aoa_config is not None:
        raise errors.NotImplemented_(f"{function}: aoa_config")
    check_id(unique_id, function)
    wait_for_saves()

    def once() -> dict[str, Tensor]:
        metadata = _metadata(path, unique_id, safetensors)
        out: dict[str, Tensor] = {}
        targets = []
        for key, parts in metadata.state_dict_metadata.items():  # type: ignore[union-attr]
            if prefix and not key.startswith(prefix):
                continue
            shape = _whole(parts)
            dtype = dtypes.to_dtype(parts[0].dtype).numpy
            about = LocalTensorMetadata((0,) * len(shape), shape, parts[0].dtype, shape)
            name = key[len(prefix) + 1 :] if prefix else key
            targets.append(Target(key, about, dtype, lambda a, name=name: out.update({name: io._tensor(a, None)})))
        _read_into(targets, path, metadata)
        return out

    return _retried(once)


def _load(state_dict: dict, path: Any, unique_id: int | None, other_names: bool, safetensors: bool) -> None:
    flat, names = flatten_state_dict(state_dict, NAME)

    def once() -> None:
        metadata = _metadata(path, unique_id, safetensors)
        known = metadata.state_dict_metadata
        missing, targets = [], []
        for key, value in flat.items():
            found = _name_in(known, key, other_names)
            if found is None:
                missing.append(key)
                continue
            part = part_of(key, value)
            if part is None:
                continue
            shape = _whole(known[found])  # type: ignore[index]
            if part.about.global_shape != shape:
                raise errors.ValueError_(
                    f"{NAME}: {key!r} has shape {list(part.about.global_shape or ())}, in the checkpoint {list(shape)}"
                )
            stored = dtypes.to_dtype(known[found][0].dtype)  # type: ignore[index]
            wanted = stored if isinstance(value, NUMBERS) else dtypes.to_dtype(part.about.dtype)
            if stored is not wanted and not (stored.is_floating and wanted.is_floating):
                raise errors.ValueError_(f"{NAME}: {key!r} has the type {wanted.name}, in the checkpoint {stored.name}")
            fill = part.fill or _number(state_dict, names[key], type(value))
            targets.append(Target(found, part.about, wanted.numpy, fill))
        if missing:
            shown = ", ".join(map(repr, missing[:5])) + (f" and {len(missing) - 5} more" if len(missing) > 5 else "")
            raise MissingKeys(f"(NotFound) {NAME}: the checkpoint {path!r} lacks {shown}")
        _read_into(targets, path, metadata)

    _retried(once)
    _hand_over(flat)


def _hand_over(flat: dict[str, Any]) -> None:
    """What `state_dict` of an optimizer gives are copies: let it take what they hold now."""
    states: dict[int, tuple[Any, dict]] = {}
    for value in flat.values():
        tensor = value.local_tensor if isinstance(value, ShardedWeight) else value
        reference, key = getattr(tensor, "__dict__", {}).get("_state_of", (lambda: None, None))
        optimizer = reference()
        if optimizer is None:
            continue
        state = states.setdefault(id(optimizer), (optimizer, {}))[1]
        inner = state if isinstance(key, str) else state.setdefault(key[0], {})
        inner[key if isinstance(key, str) else key[1]] = tensor
    for optimizer, state in states.values():
        optimizer.set_state_dict(state)


def _number(state: dict, keys: tuple, kind: type) -> Callable[[np.ndarray], None]:
    def fill(array: np.ndarray) -> None:
        inner = state
        for key in keys[:-1]:
            inner = inner[key]
        inner[keys[-1]] = kind(array.item())

    return fill


def _name_in(known: Any, key: str, other_names: bool) -> str | None:
    """The key under which the checkpoint has it: master weights have two names."""
    if key in known:
        return key
    parts = key.split(".")
    other = None
    if not other_names:
        return None
    if "master_weights" in parts:
        parts.remove("master_weights")
        other = ".".join(parts) + "_fp32_master_0"
    elif key.endswith("_fp32_master_0"):
        parts[-1] = parts[-1].removesuffix("_fp32_master_0")
        parts.insert(1, "master_weights")
        other = ".".join(parts)
    return other if other in known else None


def _retried(work: Callable[[], Any]) -> Any:
    """A version may be replaced while it is read: then its files are gone, and the metadata are new."""
    for left in reversed(range(_TRIES)):
        try:
            return work()
        except Gone:
            if not left:
                raise


class Gone(FileNotFoundError):
    """A file that the metadata name is not there."""


# ---- metadata ----
def _metadata(path: Any, unique_id: int | None, safetensors: bool) -> Metadata:
    names = storage.names(path)
    number = newest(names) if unique_id is None else unique_id
    if number is not None and f"{number}.metadata" in names:
        return metadata_of(path, number, NAME)
    if safetensors and unique_id is None and (found := [n for n in names if n.endswith(".safetensors")]):
        return _of_safetensors(path, found)
    if any(n.endswith((".distcp", ".safetensors")) for n in names):
        what = f"version {unique_id}" if unique_id is not None else "a complete version"
        raise errors.NotFound(
            f"{NAME}: {path!r} does not hold {what}: there are files of parts, but their metadata, which are written last, "
            "are not there"
        )
    raise errors.NotFound(f"{NAME}: there is no checkpoint in {path!r}")


def _of_safetensors(path: Any, names: list[str]) -> Metadata:
    """Files of whole tensors without metadata."""
    out = Metadata({}, {}, {})
    for name in names:
        file = storage.join(path, name)
        for key, array in io._from_safetensors(storage.read(file), file, True).items():
            shape = tuple(array.shape)
            about = LocalTensorMetadata((0,) * len(shape), shape, array.dtype.name, shape)
            out.state_dict_metadata[key] = [about]  # type: ignore[index]
            out.storage_metadata[LocalTensorIndex(key, about.global_offset, local_shape=shape)] = name  # type: ignore[index]
            out.flat_mapping[key] = (key,)  # type: ignore[index]
    return out


def _whole(parts: list[LocalTensorMetadata]) -> tuple[int, ...]:
    """The shape of a tensor; files of older versions tell it only by their parts."""
    if parts[0].global_shape is not None:
        return tuple(parts[0].global_shape)
    ends = [[o + n for o, n in zip(p.global_offset, p.local_shape)] for p in parts]
    return tuple(map(max, zip(*ends)))


# ---- parts ----
class Target:
    """A part that is wanted: its elements come from one or several files, `fill` takes them."""

    def __init__(self, key: str, about: LocalTensorMetadata, dtype: Any, fill: Callable[[np.ndarray], Any]):
        self.key, self.about, self.fill = key, about, fill
        self.array = np.empty(about.local_shape, dtype)
        self.left = self.array.size
        self.seen: list[tuple] = []

    def take(self, offset: tuple, block: np.ndarray) -> None:
        """Copy what a block of the whole tensor has in common with this part."""
        here, there = [], []
        for o, n, p, m in zip(self.about.global_offset, self.about.local_shape, offset, block.shape):
            low, high = max(o, p), min(o + n, p + m)
            if low >= high:
                return
            here.append(slice(low - o, high - o))
            there.append(slice(low - p, high - p))
        at = tuple(here)
        self.array[at] = block[tuple(there)]
        self.seen.append(at)
        self.left -= self.array[at].size

    def finish(self) -> None:
        if self.left:  # parts may overlap
            covered = np.zeros(self.array.shape, bool)
            for at in self.seen:
                covered[at] = True
            if not covered.all():
                raise errors.ValueError_(
                    f"{NAME}: the checkpoint has only {int(covered.sum())} of {covered.size} elements of {self.key!r} at "
                    f"{list(self.about.global_offset)}"
                )
        flat = self.about.flattened_range
        self.fill(self.array if flat is None else self.array.reshape(-1)[flat[0] : flat[1]])


class Flat:
    """A block that was stored flat, in pieces."""

    def __init__(self, about: LocalTensorMetadata, dtype: Any):
        self.shape = about.local_shape
        self.array = np.empty(math.prod(about.local_shape), dtype)
        self.there = np.zeros(self.array.size, bool)

    def take(self, where: tuple[int, int], piece: np.ndarray) -> None:
        self.array[where[0] : where[1]] = piece[: self.array.size - where[0]]  # a last piece may be padded
        self.there[where[0] : where[1]] = True

    def whole(self, key: str) -> np.ndarray:
        if not self.there.all():
            raise errors.ValueError_(
                f"{NAME}: the checkpoint has only {int(self.there.sum())} of {self.there.size} elements of {key!r}"
            )
        return self.array.reshape(self.shape)


def _meets(one: LocalTensorMetadata, offset: tuple, shape: tuple) -> bool:
    ends = zip(one.global_offset, one.local_shape, offset, shape)
    return all(max(o, p) < min(o + n, p + m) for o, n, p, m in ends) or 0 in (*one.local_shape, *shape)


def _read_into(targets: list[Target], path: Any, metadata: Metadata) -> None:
    """Read each file that holds something wanted once, and let go of it before the next."""
    by_key: dict[str, list[Target]] = {}
    for target in targets:
        by_key.setdefault(target.key, []).append(target)
    shapes = {
        (key, p.global_offset, p.flattened_range): p
        for key, parts in metadata.state_dict_metadata.items()  # type: ignore[union-attr]
        for p in parts
    }
    wanted: dict[str, list[tuple[LocalTensorIndex, LocalTensorMetadata]]] = {}
    for index, file in metadata.storage_metadata.items():  # type: ignore[union-attr]
        if index.tensor_key not in by_key or index.replica_id:
            continue
        about = shapes.get((index.tensor_key, index.global_offset, index.flattened_range))
        if about is None:
            raise LoadError(f"(InvalidArgument) {NAME}: the metadata of {path!r} contradict themselves: {index}")
        if any(_meets(t.about, about.global_offset, about.local_shape) for t in by_key[index.tensor_key]):
            wanted.setdefault(file, []).append((index, about))
    pieces: dict[tuple, Flat] = {}
    for file in sorted(wanted):
        arrays = _arrays(storage.join(path, file))
        for index, about in wanted[file]:
            key, flat = index.tensor_key, about.flattened_range
            if key not in arrays:
                raise LoadError(f"(InvalidArgument) {NAME}: the file {file!r} of {path!r} lacks {key!r}")
            array = _typed(arrays[key], about.dtype)
            size = math.prod(about.local_shape) if flat is None else flat[1] - flat[0]
            if array.size != size or flat is None and array.shape != tuple(about.local_shape):
                raise LoadError(
                    f"(InvalidArgument) {NAME}: {key!r} in {file!r} has shape {list(array.shape)}, its metadata say "
                    f"{list(about.local_shape)}"
                )
            if flat is not None:
                found = pieces.setdefault((key, about.global_offset, about.local_shape), Flat(about, array.dtype))
                found.take(flat, array.reshape(-1))
                continue
            for target in by_key[key]:
                target.take(about.global_offset, array)
        del arrays
    for (key, offset, _), flat_block in pieces.items():
        for target in by_key[key]:
            target.take(offset, flat_block.whole(key))
    for target in targets:
        target.finish()


def _arrays(file: str) -> dict[str, np.ndarray]:
    try:
        if file.endswith(".safetensors"):
            return io._from_safetensors(storage.read(file), file, True)
        with storage.opened(file) as f:
            found = restricted_load(f)
    except FileNotFoundError:
        raise Gone(f"(NotFound) {NAME}: the file {file!r} of the checkpoint is not there") from None
    except LoadError as error:
        raise LoadError(f"(InvalidArgument) {NAME}: {file!r} is damaged: {error}") from None
    if not isinstance(found, dict):
        raise LoadError(f"(InvalidArgument) {NAME}: {file!r} is no file of a checkpoint")
    out = {}
    for key, value in found.items():
        if type(value) is tuple and len(value) == 2:  # name and array
            value = value[1]
        if isinstance(value, ArrayRecord):
            out[key] = value.array
    return out


def _typed(array: np.ndarray, dtype: str) -> np.ndarray:
    return array.view(ml_dtypes.bfloat16) if dtype == "bfloat16" and array.dtype == np.uint16 else array
