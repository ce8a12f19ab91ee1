"""What a checkpoint tells of its parts, in the official file format: a pickle of three kinds of records.

Reading executes nothing: the file may name these records and plain values, everything else is refused.
"""

from __future__ import annotations

import dataclasses
import io
import pickle
from typing import Any, BinaryIO

from ....engine import dtype as dtypes
from ....framework.unpickle import LoadError, _Bounded, _check_key, _Unpickler


@dataclasses.dataclass(frozen=True)
class LocalTensorMetadata:
    """A part of a tensor: where it begins, its shape and type, the shape of the whole. A part that was made flat holds
    the elements `flattened_range` of the flat one."""

    global_offset: tuple[int, ...]
    local_shape: tuple[int, ...]
    dtype: str
    global_shape: tuple[int, ...] | None = None
    is_flattened: bool = False
    flattened_range: tuple[int, int] | None = None


@dataclasses.dataclass(frozen=True)
class LocalTensorIndex:
    """Which part of which tensor; the key by which files are found."""

    tensor_key: str
    global_offset: tuple[int, ...]
    is_flattened: bool = False
    flattened_range: tuple[int, int] | None = None
    replica_id: int | None = None
    local_shape: tuple[int, ...] | None = None


@dataclasses.dataclass
class Metadata:
    """All parts by the key of their tensor, the file of each, and the nested keys of the state."""

    state_dict_metadata: dict[str, list[LocalTensorMetadata]] | None = None
    storage_metadata: dict[LocalTensorIndex, str] | None = None
    flat_mapping: dict[str, tuple[str, ...]] | None = None


_RECORDS = {kind.__name__: kind for kind in (LocalTensorMetadata, LocalTensorIndex, Metadata)}
_MODULES = (__name__, "paddle.distributed.checkpoint.metadata", "paddle.distributed.flex_checkpoint.dcp.metadata")


def dump(metadata: Metadata) -> bytes:
    """The contents of a file."""
    return pickle.dumps(metadata, 4)


def read(file: BinaryIO | bytes) -> Metadata:
    """The metadata in a file. LoadError (a ValueError) for anything else, damaged or harmful."""
    try:
        found = _Reader(_Bounded(io.BytesIO(file) if isinstance(file, bytes) else file), encoding="latin1").load()
    except LoadError:
        raise
    except (MemoryError, RecursionError):
        raise LoadError("it is nested too deeply or too large") from None
    except Exception as e:
        raise LoadError(f"it is no complete pickle ({type(e).__name__}: {str(e)[:100]})") from None
    if type(found) is not Metadata:
        raise LoadError(f"it holds a {type(found).__name__}, not the metadata of a checkpoint")
    _check(found)
    return found


class _Reader(_Unpickler):
    dispatch = dict(_Unpickler.dispatch)

    def find_class(self, module: str, name: str) -> Any:
        if module in _MODULES and name in _RECORDS:
            return _RECORDS[name]
        return super().find_class(module, name)

    def load_newobj(self) -> None:
        args = self.stack.pop()
        kind = self.stack.pop()
        if kind not in _RECORDS.values() or args != ():
            raise LoadError("it makes an object that metadata does not need; refused")
        self.append(object.__new__(kind))

    dispatch[pickle.NEWOBJ[0]] = load_newobj

    def load_build(self) -> None:
        record, state = self.stack[-2], self.stack[-1]
        if type(record) not in _RECORDS.values():
            super().load_build()
            return
        self.stack.pop()
        names = {field.name for field in dataclasses.fields(record)}
        if not isinstance(state, dict) or not set(state) <= names:
            raise LoadError(f"a {type(record).__name__} is damaged")
        for name, value in state.items():
            if type(record) is LocalTensorIndex and not isinstance(value, (str, tuple, int, type(None))):
                raise LoadError(f"a LocalTensorIndex is damaged: {name} is a {type(value).__name__}")
            object.__setattr__(record, name, value)

    dispatch[pickle.BUILD[0]] = load_build

    def load_setitem(self) -> None:
        value, key = self.stack.pop(), self.stack.pop()
        self._target(dict)[_key(key)] = value

    dispatch[pickle.SETITEM[0]] = load_setitem

    def load_setitems(self) -> None:
        items = self.pop_mark()
        target = self._target(dict)
        for i in range(0, len(items), 2):
            target[_key(items[i])] = items[i + 1]

    dispatch[pickle.SETITEMS[0]] = load_setitems


def _key(key: Any) -> Any:
    for part in dataclasses.astuple(key) if type(key) is LocalTensorIndex else (key,):
        _check_key(part)
    return key


def _is_shape(value: Any) -> bool:
    return type(value) in (tuple, list) and all(type(n) is int and n >= 0 for n in value)


def _is_dtype(value: Any) -> bool:
    return type(value) is str and value in {dtype.name for dtype in dtypes.ALL}


def _is_range(flat: Any) -> bool:
    return flat is None or _is_shape(flat) and len(flat) == 2 and flat[0] <= flat[1]


def _check(metadata: Metadata) -> None:
    """LoadError for records that contradict themselves, so that nothing else needs to look."""
    parts, files, names = metadata.state_dict_metadata, metadata.storage_metadata, metadata.flat_mapping
    if type(parts) is not dict or type(files) is not dict or type(names) not in (dict, type(None)):
        raise LoadError("the metadata lacks a table")
    for key, found in parts.items():
        if type(found) is not list or not found or not all(type(p) is LocalTensorMetadata for p in found):
            raise LoadError(f"the parts of {key!r} are damaged")
        for p in found:
            shapes = _is_shape(p.global_offset) and _is_shape(p.local_shape)
            if not shapes or len(p.global_offset) != len(p.local_shape) or not _is_dtype(p.dtype):
                raise LoadError(f"a part of {key!r} is damaged")
            if not (p.global_shape is None or _is_shape(p.global_shape)) or not _is_range(p.flattened_range):
                raise LoadError(f"a part of {key!r} is damaged")
    for index, file in files.items():
        if type(index) is not LocalTensorIndex or not _is_shape(index.global_offset):
            raise LoadError("the table of the files is damaged")
        if not _is_range(index.flattened_range) or not (index.local_shape is None or _is_shape(index.local_shape)):
            raise LoadError("the table of the files is damaged")
        if type(file) is not str or not file or "/" in file or "\\" in file or file in (".", ".."):
            raise LoadError(f"{file!r} is no name of a file of a checkpoint")
    for key, nested in (names or {}).items():
        if type(key) is not str or type(nested) is not tuple or not all(type(n) is str for n in nested):
            raise LoadError("the table of nested keys is damaged")
