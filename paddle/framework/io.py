"""`save` and `load`: nested containers of tensors in the official `.pdparams`/`.pdopt` format, or safetensors.

The official format is a pickle. A dict of tensors holds plain arrays and a table of the tensors' names; in any other
object a tensor is the pair (name, array). bfloat16 is stored as uint16.
"""

from __future__ import annotations

import collections
import io
import os
import pickle
from typing import Any

import ml_dtypes
import numpy as np

from ..engine import dtype as dtypes
from ..engine import errors
from ..engine.place import put
from ..engine.tensor import Tensor, _make
from ..utils import storage
from ..utils.files import atomic_write
from .unpickle import MAX_DEPTH, ArrayRecord, DTypeRecord, LoadError, restricted_load

__all__ = ["save", "load"]

_TABLE = "StructuredToParameterName@@"
_PLAIN = (type(None), bool, int, float, complex, str, bytes, bytearray, slice, range, np.dtype)


class MissingFile(FileNotFoundError, ValueError):
    """There is no file to load (officially a ValueError)."""


def save(obj: Any, path: Any, protocol: int = 4, **configs: Any) -> None:
    """Save tensors, alone or in nested dicts, lists and tuples with numbers and strings, to a file.

    A file of that name is replaced in one step: whoever reads it, even after a crash, finds the old or the new one
    whole.

    Args:
        obj: a `state_dict()`, a Tensor, or a nested container.
        path: a file name, an address such as "s3://bucket/key" (through the package fsspec), or a binary file object
            such as `io.BytesIO`. Missing folders are made. With the ending `.safetensors` the file is written in that format, and `obj` must be a flat dict of tensors.
        protocol: the pickle protocol, 2 to 4.

    Raises:
        ValueError: an empty file name, another protocol, or content that such a file cannot hold.
        IsADirectoryError: `path` is a folder.

    Example:
        >>> import io; buffer = io.BytesIO()
        >>> paddle.save({"w": paddle.ones([2])}, buffer)
    """
    for key in configs:
        if key not in ("use_binary_format", "pickle_protocol"):
            raise errors.ValueError_(f"save: there is no option {key!r}")
    protocol = configs.get("pickle_protocol", protocol)
    if not isinstance(protocol, int) or isinstance(protocol, bool) or not 2 <= protocol <= 4:
        raise errors.ValueError_(f"save: protocol must be 2, 3 or 4, got {protocol!r}")
    if hasattr(path, "write"):
        pickle.dump(_packed(obj), path, protocol)
        return
    path = _name(path, "save")
    if not os.path.basename(path):
        raise errors.ValueError_(f"save: path must end in the name of a file, got {path!r}")
    if os.path.isdir(path):
        raise IsADirectoryError(f"(InvalidArgument) save: {path!r} is a folder; give the name of a file in it")
    if path.endswith(".safetensors"):
        data = _safetensors(obj)
        with atomic_write(path) as f:
            f.write(data)
        return
    packed = _packed(obj)
    with atomic_write(path) as f:
        pickle.dump(packed, f, protocol)


def load(path: Any, **configs: Any) -> Any:
    """Load what `save`, or the official `paddle.save`, wrote. Nothing in the file is executed.

    Args:
        path: a file name or an address (the ending `.safetensors` chooses that format), or a binary file object.
        return_numpy: give NumPy arrays instead of tensors (bfloat16 as uint16).
        keep_name_table: keep the table of parameter names that a state dict carries.

    Raises:
        ValueError: no such file (also a FileNotFoundError); the file is damaged, or asks for anything that a file of
            tensors does not need (also a `pickle.UnpicklingError`).
        IsADirectoryError: `path` is a folder.

    Example:
        >>> import io; buffer = io.BytesIO(); paddle.save([paddle.ones([2]), 7], buffer)
        >>> buffer.seek(0); paddle.load(buffer)[1]
        0
        7
    """
    for key in configs:
        if key not in ("return_numpy", "keep_name_table", "model_filename", "params_filename"):
            raise errors.ValueError_(f"load: there is no option {key!r}")
    as_numpy, keep = bool(configs.get("return_numpy")), bool(configs.get("keep_name_table"))
    if hasattr(path, "read"):
        return _unpacked(_read(path, "the file object"), as_numpy, keep)
    path = _name(path, "load")
    if os.path.isdir(path):
        raise IsADirectoryError(f"(InvalidArgument) load: {path!r} is a folder; give the name of a file in it")
    try:
        file = storage.opened(path)
    except (FileNotFoundError, NotADirectoryError):
        raise MissingFile(f"(NotFound) load: there is no file {path!r}") from None
    with file as f:
        if path.endswith(".safetensors"):
            return _from_safetensors(f.read(), path, as_numpy)
        return _unpacked(_read(f, repr(path)), as_numpy, keep)


def _name(path: Any, what: str) -> str:
    if isinstance(path, (str, os.PathLike)):
        return str(storage.local(path))
    raise errors.ValueError_(
        f"{what}: path must be the name of a file or a binary file object, got {type(path).__name__}"
    )


# ---- writing ----
def _packed(obj: Any) -> Any:
    """The object as the official package would pickle it."""
    if (
        isinstance(obj, dict)
        and _TABLE not in obj
        and all(
            isinstance(v, Tensor) or isinstance(v, dict) and not any(isinstance(e, Tensor) for e in v.values())
            for v in obj.values()
        )
    ):
        out: dict = {k: _array(v, k) if isinstance(v, Tensor) else _pack(v, f"[{k!r}]", 1) for k, v in obj.items()}
        out[_TABLE] = {k: v.name for k, v in obj.items() if isinstance(v, Tensor)}
        return out
    return _pack(obj, "", 0)


def _array(tensor: Tensor, where: Any = "") -> np.ndarray:
    array = tensor._concrete("save")
    if array.dtype == ml_dtypes.bfloat16:
        return array.view(np.uint16)
    if array.dtype == np.uint16:
        raise errors.ValueError_(
            f"save: {where or 'obj'!r} is a uint16 tensor, but uint16 means bfloat16 in this format; "
            "cast it, for example to int32"
        )
    return array


def _pack(obj: Any, where: str, depth: int) -> Any:
    if isinstance(obj, Tensor):
        return obj.name, _array(obj, where)
    if isinstance(obj, _PLAIN):
        return obj
    if isinstance(obj, (np.ndarray, np.generic)):
        if obj.dtype.kind in "biufcSU" or obj.dtype in dtypes._by_numpy:
            return obj if isinstance(obj, np.generic) else np.asarray(obj)
        raise errors.ValueError_(
            f"save: obj{where} is an array of type {obj.dtype}, which a file of tensors cannot hold"
        )
    if depth >= MAX_DEPTH:
        raise errors.ValueError_(f"save: obj is nested more than {MAX_DEPTH} levels deep, or contains itself")
    if isinstance(obj, dict):
        kind = collections.OrderedDict if isinstance(obj, collections.OrderedDict) else dict
        return kind((_pack_key(k, where), _pack(v, f"{where}[{k!r}]", depth + 1)) for k, v in obj.items())
    if isinstance(obj, (list, tuple)):
        items = [_pack(v, f"{where}[{i}]", depth + 1) for i, v in enumerate(obj)]
        return tuple(items) if isinstance(obj, tuple) else items
    if isinstance(obj, (set, frozenset)):
        return type(obj)(_pack_key(v, where) for v in obj)
    hint = "; save its state_dict()" if hasattr(obj, "state_dict") else ""
    raise errors.ValueError_(
        f"save: obj{where} is a {type(obj).__name__}; a file holds tensors, arrays, numbers, strings and "
        f"containers of them{hint}"
    )


def _pack_key(key: Any, where: str) -> Any:
    if isinstance(key, (str, bytes, int, float, complex, type(None), np.generic)):
        return key
    if isinstance(key, (tuple, frozenset)):
        return type(key)(_pack_key(k, where) for k in key) if type(key) in (tuple, frozenset) else tuple(key)
    raise errors.ValueError_(
        f"save: obj{where} has a {type(key).__name__} as a key or member of a set; strings, numbers and "
        "tuples of them can be"
    )


# ---- reading ----
def _read(file: Any, what: str) -> Any:
    if not (hasattr(file, "seek") and file.seekable()):
        file = io.BytesIO(file.read())
    try:
        return restricted_load(file)
    except LoadError as e:
        raise LoadError(f"(InvalidArgument) load: {what} cannot be loaded: {e}") from None


def _unpacked(obj: Any, as_numpy: bool, keep_table: bool) -> Any:
    names: dict = {}
    if isinstance(obj, dict) and isinstance(obj.get(_TABLE), dict):
        names = obj[_TABLE] if keep_table else obj.pop(_TABLE)
    return _Reader(as_numpy, _holds_pairs(obj)).top(obj, names)


def _is_pair(obj: Any) -> bool:
    return type(obj) is tuple and len(obj) == 2 and isinstance(obj[0], str) and isinstance(obj[1], ArrayRecord)


def _children(obj: Any) -> Any:
    return obj.values() if isinstance(obj, dict) else obj if isinstance(obj, (list, tuple)) else ()


def _holds_pairs(obj: Any) -> bool:
    """Whether tensors are (name, array) somewhere; if not, every array is one."""
    seen, todo = set(), [obj]
    while todo:
        each = todo.pop()
        if _is_pair(each):
            return True
        if id(each) not in seen:
            seen.add(id(each))
            todo.extend(_children(each))
    return False


class _Reader:
    """Turns what was unpickled into tensors and arrays; objects that were shared stay shared."""

    def __init__(self, as_numpy: bool, pairs: bool):
        self.as_numpy, self.pairs = as_numpy, pairs
        self.done: dict[int, Any] = {}

    def top(self, obj: Any, names: dict) -> Any:
        if not names or not isinstance(obj, dict):
            return self.read(obj, 0)
        return type(obj)(
            (k, self.tensor(v, names.get(k)) if isinstance(v, ArrayRecord) and not self.pairs else self.read(v, 1))
            for k, v in obj.items()
        )

    def read(self, obj: Any, depth: int) -> Any:
        if depth > MAX_DEPTH:
            raise LoadError(f"(InvalidArgument) load: the file is nested more than {MAX_DEPTH} levels deep")
        if isinstance(obj, DTypeRecord):
            return obj.dtype
        if not isinstance(obj, (dict, list, tuple, ArrayRecord)):
            return obj
        found = self.done.get(id(obj))
        if found is not None:
            return found
        out: Any
        if isinstance(obj, ArrayRecord):
            out = obj.array.copy() if self.pairs or obj.array.dtype.kind in "SU" else self.tensor(obj, None)
        elif _is_pair(obj):
            out = self.tensor(obj[1], obj[0])
        elif isinstance(obj, tuple):
            out = tuple([self.read(v, depth + 1) for v in obj])
        else:
            out = self.done[id(obj)] = type(obj)()
            if isinstance(obj, dict):
                for k, v in obj.items():
                    out[k] = self.read(v, depth + 1)
            else:
                out.extend(self.read(v, depth + 1) for v in obj)
        self.done[id(obj)] = out
        return out

    def tensor(self, record: ArrayRecord, name: Any) -> Any:
        if self.as_numpy:
            return record.array.copy()
        array = record.array.view(ml_dtypes.bfloat16) if record.array.dtype == np.uint16 else record.array
        return _tensor(array, name)


def _tensor(array: np.ndarray, name: Any) -> Tensor:
    if array.dtype not in dtypes._by_numpy:
        raise LoadError(
            f"(InvalidArgument) load: an array of type {array.dtype} cannot become a tensor; use return_numpy=True"
        )
    out = _make(put(array))
    if isinstance(name, str):
        out._name = name
    return out


# ---- safetensors ----
_SAFE = {
    "F64": "float64",
    "F32": "float32",
    "F16": "float16",
    "BF16": "bfloat16",
    "I64": "int64",
    "I32": "int32",
    "I16": "int16",
    "I8": "int8",
    "U64": "uint64",
    "U32": "uint32",
    "U16": "uint16",
    "U8": "uint8",
    "BOOL": "bool",
    "F8_E4M3": "float8_e4m3fn",
    "F8_E5M2": "float8_e5m2",
    "C64": "complex64",
}


def _library() -> Any:
    try:
        import safetensors.numpy
    except ImportError:
        raise ImportError("the ending .safetensors needs the package safetensors: pip install safetensors") from None
    return safetensors


def _safetensors(obj: Any) -> bytes:
    library = _library()
    if not isinstance(obj, dict) or not all(
        isinstance(k, str) and isinstance(v, (Tensor, np.ndarray)) for k, v in obj.items()
    ):
        raise errors.ValueError_(
            "save: a .safetensors file holds a flat dict from strings to tensors; for anything else choose "
            "another ending, such as .pdparams"
        )
    arrays = {
        k: np.ascontiguousarray(v._concrete("save") if isinstance(v, Tensor) else v).reshape(v.shape)
        for k, v in obj.items()
    }
    for key, array in arrays.items():
        if array.dtype.name not in _SAFE.values():
            raise errors.ValueError_(f"save: {key!r} has the type {array.dtype.name}, which safetensors does not know")
    return library.numpy.save(arrays)


def _from_safetensors(data: bytes, path: str, as_numpy: bool) -> dict:
    library = _library()
    try:
        entries = library.deserialize(data)
    except library.SafetensorError as e:
        raise LoadError(f"(InvalidArgument) load: {path!r} is no safetensors file, or is damaged: {e}") from None
    out = {}
    for name, entry in entries:
        if entry["dtype"] not in _SAFE:
            raise LoadError(
                f"(InvalidArgument) load: {name!r} in {path!r} has the type {entry['dtype']}, which tensors lack"
            )
        array = np.frombuffer(entry["data"], dtypes.to_dtype(_SAFE[entry["dtype"]]).numpy).reshape(entry["shape"])
        out[name] = array.copy() if as_numpy else _tensor(array, name)
    return out
