"""Reading a checkpoint, by any number of processes and with any division of the tensors."""

from __future__ import annotations

import functools
import json
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
from ....utils.files import atomic_write
from ...communication.group import Group, barrier
from ..aoa.aoa_engine import POWERS, AOAEngine, Piece, applied
from .metadata import LocalTensorIndex, LocalTensorMetadata, Metadata
from .save_state_dict import wait_for_saves
from .sharded_weight import ShardedWeight, ShardedWeightDesc
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
        aoa_config: {"aoa_statements": [...]}, how the tensors of the checkpoint become those of the state: names, axes, types,
            one behind the other, interleaved ("a^T -> b", "q, k, v -> w, fused_qkv, num_heads=8, num_key_value_groups=4"; all
            forms are in `flex_checkpoint.aoa.statements`). With "aoa_config_reverse" they are read the other way.
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
    group, takes_part = _met(process_group, unique_id, NAME)
    if not takes_part:
        return
    if aoa_config is None:
        agree(group, NAME, lambda: _load(state_dict, path, unique_id, mw_name_compatibility, safetensors))
        return
    found = agree(group, NAME, lambda: _wanted(state_dict))
    wanted: dict[str, list[ShardedWeightDesc]] = {}
    for own in found:
        for part in own:
            wanted.setdefault(part.key, []).append(part)
    agree(group, NAME, lambda: _load_changed(state_dict, path, unique_id, safetensors, aoa_config, wanted))


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
        aoa_config: as of `load_state_dict`; then the tensors are those that its statements give.

    Example:
        >>> import paddle.distributed as dist
        >>> dist.save_state_dict({"model": {"w": paddle.ones([2])}}, "checkpoint")
        >>> list(dist.load_merged_state_dict("checkpoint", prefix="model"))
        ['w']
    """
    function = "load_merged_state_dict"
    check_id(unique_id, function)
    wait_for_saves()

    def once() -> dict[str, Tensor]:
        out = _merged(path, unique_id, safetensors, aoa_config, lambda key: _below(prefix, key) is not None)
        return {_below(prefix, key): io._tensor(array, None) for key, array in out.items()}

    return _retried(once)


def _merged(
    path: Any,
    unique_id: int | None,
    safetensors: bool,
    aoa_config: dict | None,
    chosen: Callable[[str], bool],
    share: Callable[[list[str]], list[str]] = list,
) -> dict[str, np.ndarray]:
    """Whole tensors: those of the keys that are `chosen`, and of these the `share` of this process."""
    metadata = _metadata(path, unique_id, safetensors)
    known: dict[str, list[LocalTensorMetadata]] = metadata.state_dict_metadata  # type: ignore[assignment]
    out: dict[str, np.ndarray] = {}
    targets: list[Target] = []
    if aoa_config is None:
        for key in share([key for key in known if chosen(key)]):
            about = _all_of(known[key])
            targets.append(Target(key, about, dtypes.to_dtype(about.dtype).numpy, functools.partial(_put, out, key)))
        _read_into(targets, path, metadata)
        return out
    engine = AOAEngine(aoa_config, _parts_of(known), None)
    made: dict[str, Made] = {}
    for key in share([key for key in engine.derived() if chosen(key)]):
        shape, kind = engine.derived()[key]
        about = LocalTensorMetadata((0,) * len(shape), shape, kind, shape)
        made[key] = Made(key, about, dtypes.to_dtype(kind).numpy, functools.partial(_put, out, key))
        targets += made[key].targets(engine, known)
    _read_into(targets, path, metadata)
    for one in made.values():
        one.finish()
    return out


def _put(out: dict, key: str, array: np.ndarray) -> None:
    out[key] = array


def _all_of(parts: list[LocalTensorMetadata]) -> LocalTensorMetadata:
    shape = _whole(parts)
    return LocalTensorMetadata((0,) * len(shape), shape, parts[0].dtype, shape)


@errors.clean
def merge_sharded_state_dict(
    load_path: str,
    save_path: str,
    prefix: str | None = None,
    safetensor_prefix: str = "model",
    skip_postfix_list: list = [],
    process_group: Group | None = None,
    unique_id: int | None = None,
    offload: bool = False,
    aoa_config: dict[str, list[str]] | None = None,
    safetensors: bool = False,
) -> None:
    """Write the tensors of a checkpoint, whole, as safetensors: a file from each process of the group with its share of
    the keys, `model-00001-of-00002.safetensors` and so on, and `model.safetensors.index.json`, which tells where they are.
    All processes of the group call it.

    Args:
        load_path, process_group, unique_id, safetensors, aoa_config: as of `load_state_dict`.
        save_path: a folder or an address, made where there is none.
        prefix: only the keys below it, such as "model"; it is taken off.
        safetensor_prefix: what the names of the files begin with.
        skip_postfix_list: ends of keys that are left out, such as "moment1_0".
        offload: for the official interface.

    Raises:
        FileNotFoundError, ValueError, RuntimeError: as of `load_state_dict`.

    Example:
        >>> import paddle.distributed as dist
        >>> from paddle.distributed.flex_checkpoint.dcp.load_state_dict import merge_sharded_state_dict
        >>> dist.save_state_dict({"model": {"w": paddle.ones([2])}}, "checkpoint")
        >>> merge_sharded_state_dict("checkpoint", "merged", prefix="model")
        >>> paddle.load("merged/model-00001-of-00001.safetensors")["w"].tolist()
        [1.0, 1.0]
    """
    function = "merge_sharded_state_dict"
    group, takes_part = _met(process_group, unique_id, function)
    if not takes_part:
        return
    rank, size = (0, 1) if group is None else (group.rank, group.nranks)
    name = f"{safetensor_prefix}-{rank + 1:05d}-of-{size:05d}.safetensors"
    ends = tuple(skip_postfix_list)

    def chosen(key: str) -> bool:
        return _below(prefix, key) is not None and not (ends and key.endswith(ends))

    def share(keys: list[str]) -> list[str]:
        return keys[rank * len(keys) // size : (rank + 1) * len(keys) // size]

    def write_share() -> tuple[str, list[str], int]:
        arrays = _retried(lambda: _merged(load_path, unique_id, safetensors, aoa_config, chosen, share))
        found = {_below(prefix, key): array for key, array in arrays.items()}
        with atomic_write(storage.join(save_path, name)) as f:
            f.write(io._safetensors({key: io._tensor(array, None) for key, array in found.items()}))
        return name, list(found), sum(a.nbytes for a in found.values())

    notes = agree(group, function, write_share)

    def write_index() -> None:
        if rank:
            return
        where = {key: file for file, keys, _ in notes for key in keys}
        index = {"metadata": {"total_size": sum(n for *_, n in notes)}, "weight_map": where}
        with atomic_write(storage.join(save_path, f"{safetensor_prefix}.safetensors.index.json")) as f:
            f.write((json.dumps(index, indent=2) + "\n").encode())

    agree(group, function, write_index)


# ---- by the statements of an aoa_config ----
def _parts_of(known: dict[str, list[LocalTensorMetadata]]) -> dict[str, list[ShardedWeightDesc]]:
    return {
        key: [ShardedWeightDesc(key, p.local_shape, _whole(parts), p.global_offset, p.dtype) for p in parts]
        for key, parts in known.items()
    }


def _met(process_group: Group | None, unique_id: Any, function: str) -> tuple[Group | None, bool]:
    """`members`, which have written what they had to and now read together."""
    check_id(unique_id, function)
    wait_for_saves()
    group, takes_part = members(process_group, function)
    if group is not None:
        barrier(group)
    return group, takes_part


def _wanted(state_dict: dict) -> list[ShardedWeightDesc]:
    """The parts that this process has of the state."""
    found = []
    for key, value in flatten_state_dict(state_dict, NAME)[0].items():
        part = None if isinstance(value, NUMBERS) else part_of(key, value)
        if part is not None:
            a = part.about
            found.append(ShardedWeightDesc(key, a.local_shape, a.global_shape or (), a.global_offset, a.dtype))
    return found


class Made:
    """A part of a wanted tensor that is made from pieces of the checkpoint."""

    def __init__(self, key: str, about: LocalTensorMetadata, dtype: Any, fill: Callable[[np.ndarray], Any]):
        self.key, self.about, self.fill = key, about, fill
        self.array = np.zeros(about.local_shape, dtype)

    def targets(self, engine: AOAEngine, known: dict[str, list[LocalTensorMetadata]]) -> list[Target]:
        """What is to be read for it."""
        found = []
        for piece in engine.sources(self.key, self.about.global_offset, self.about.local_shape):
            if piece.key not in known:
                raise MissingKeys(
                    f"(NotFound) {NAME}: the checkpoint lacks {piece.key!r}, from which {self.key!r} comes"
                )
            whole = _all_of(known[piece.key])
            engine.check_type(self.key, piece, self.about.dtype)
            corner = tuple(low for low, _ in piece.here)
            shape = tuple(high - low for low, high in piece.here)
            about = LocalTensorMetadata(corner, shape, whole.dtype, whole.global_shape)
            take = functools.partial(self._take, piece)
            found.append(Target(piece.key, about, dtypes.to_dtype(whole.dtype).numpy, take))
        return found

    def _take(self, piece: Piece, array: np.ndarray) -> None:
        self.array[tuple(slice(low, high) for low, high in piece.there)] = applied(array, piece.steps)

    def finish(self) -> None:
        flat = self.about.flattened_range
        self.fill(self.array if flat is None else self.array.reshape(-1)[flat[0] : flat[1]])


def _load_changed(
    state_dict: dict,
    path: Any,
    unique_id: int | None,
    safetensors: bool,
    aoa_config: dict,
    wanted: dict[str, list[ShardedWeightDesc]],
) -> None:
    flat, names = flatten_state_dict(state_dict, NAME)

    def once() -> None:
        metadata = _metadata(path, unique_id, safetensors)
        known: dict[str, list[LocalTensorMetadata]] = metadata.state_dict_metadata  # type: ignore[assignment]
        tensors = {key: parts for key, parts in known.items() if parts[0].local_shape or key in wanted}
        engine = AOAEngine(aoa_config, _parts_of(tensors), wanted)
        made, targets = [], []
        for key, value in flat.items():
            if isinstance(value, NUMBERS):
                if key not in known:
                    raise MissingKeys(f"(NotFound) {NAME}: the checkpoint {path!r} lacks {key!r}")
                about = _all_of(known[key])
                fill = _number(state_dict, names[key], type(value))
                targets.append(Target(key, about, dtypes.to_dtype(about.dtype).numpy, fill))
                continue
            part = part_of(key, value)
            shape = engine.shape_of(key)
            if part is None or shape is None:
                continue
            if not key.endswith(POWERS) and part.about.global_shape != shape:
                raise errors.ValueError_(
                    f"{NAME}: {key!r} has shape {list(part.about.global_shape or ())}, the statements give {list(shape)}"
                )
            one = Made(key, part.about, dtypes.to_dtype(part.about.dtype).numpy, part.fill)  # type: ignore[arg-type]
            sources = one.targets(engine, known)
            if sources:
                made.append(one)
                targets += sources
        _read_into(targets, path, metadata)
        for one in made:
            one.finish()

    _retried(once)
    _hand_over(flat)


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
            if array.dtype.name != about.dtype:
                raise LoadError(
                    f"(InvalidArgument) {NAME}: {key!r} in {file!r} has the type {array.dtype.name}, its metadata say "
                    f"{about.dtype}"
                )
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


def _below(prefix: str | None, key: str) -> Any:
    """The rest of a key below a prefix, None for another key."""
    start = f"{prefix.rstrip('.')}." if prefix else ""
    return key[len(start) :] if key.startswith(start) else None


def _typed(array: np.ndarray, dtype: str) -> np.ndarray:
    return array.view(ml_dtypes.bfloat16) if dtype == "bfloat16" and array.dtype == np.uint16 else array
