"""Parameter files of the official package: tensors one after the other, each with a short description.

A tensor is: version (uint32, 0), the number of levels of sequence offsets (uint64) and for each its size and bytes,
version again, the size of a TensorDesc (int32), the TensorDesc, the elements in C order.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import ml_dtypes
import numpy as np

from ..engine import errors
from .programdesc import CODES, VarDesc, parse_tensor_desc, tensor_desc

_DEEPEST = 16  # levels of sequence offsets


def _bad(what: str) -> Exception:
    return errors.ValueError_(f"the parameter file is damaged or of another kind: {what}")


def numpy_dtype(name: str) -> np.dtype:
    return np.dtype(getattr(ml_dtypes, name, None) or name)


def read_tensor(data: memoryview, at: int = 0) -> tuple[np.ndarray, int]:
    """(a read-only array over the bytes, position after it). ValueError where the bytes are not a tensor."""

    def take(code: str) -> int:
        nonlocal at
        size = struct.calcsize(code)
        if size > len(data) - at:
            raise _bad(f"it ends at byte {len(data)}, inside a tensor")
        (value,) = struct.unpack_from("<" + code, data, at)
        at += size
        return value

    def version() -> None:
        found = take("I")
        if found != 0:
            raise _bad(f"a tensor of version {found}; known is 0")

    version()
    levels = take("Q")
    if levels > _DEEPEST:
        raise _bad(f"{levels} levels of sequence offsets")
    for _ in range(levels):
        size = take("Q")
        if size > len(data) - at:
            raise _bad("sequence offsets that go beyond its end")
        at += size
    version()
    size = take("i")
    if not 0 <= size <= min(len(data) - at, 4096):
        raise _bad(f"a description of {size} bytes")
    dtype, shape = parse_tensor_desc(data[at : at + size])
    at += size
    if dtype is None or any(n < 0 for n in shape) or len(shape) > 32:
        raise _bad(f"a tensor of type {dtype} and shape {list(shape)}")
    kind = numpy_dtype(dtype)
    count = 1
    for n in shape:
        count *= n
    if count * kind.itemsize > len(data) - at:
        raise _bad(f"a tensor of shape {list(shape)} needs {count * kind.itemsize} bytes, {len(data) - at} are left")
    array = np.frombuffer(data, kind, count, at).reshape(shape)
    return array, at + count * kind.itemsize


def write_tensor(stream: BinaryIO, array: Any) -> None:
    """Append a tensor. TypeError when the format has no such element type."""
    array = np.asarray(array, order="C")
    name = array.dtype.name
    if name not in CODES:
        raise errors.TypeError_(f"a parameter file cannot hold elements of type {name}; it can hold {', '.join(CODES)}")
    desc = tensor_desc(name, array.shape)
    stream.write(struct.pack("<IQIi", 0, 0, 0, len(desc)))
    stream.write(desc)
    stream.write(array.tobytes())


def read_combined(data: bytes | memoryview, names: Iterable[str]) -> dict[str, np.ndarray]:
    """The tensors of a combined file (`.pdiparams`, `__params__`), which has no names: they are given, in its order."""
    view = memoryview(data)
    names = list(names)
    if names and not len(view):
        raise errors.ValueError_(f"the file of the {len(names)} parameters of the model is missing or empty")
    found, at = {}, 0
    for name in names:
        if at == len(view):
            raise _bad(f"it holds {len(found)} tensors, the model has {len(names)} parameters")
        found[name], at = read_tensor(view, at)
    if at != len(view):
        raise _bad(f"{len(view) - at} bytes are left after the {len(names)} parameters of the model")
    return found


def write_combined(arrays: Sequence[tuple[str, Any]] | dict[str, Any]) -> bytes:
    """A combined file of named arrays; they are sorted by name, as readers expect."""
    stream = io.BytesIO()
    for _, array in sorted(dict(arrays).items()):
        write_tensor(stream, array)
    return stream.getvalue()


def read_folder(folder: str | Path, names: Iterable[str]) -> dict[str, np.ndarray]:
    """The tensors of a folder with one file for each parameter."""
    found = {}
    root = Path(folder).resolve()
    for name in names:
        path = (root / name).resolve()
        if not path.is_relative_to(root):
            raise _bad(f"the parameter name {name!r} leads out of the folder")
        if not path.is_file():
            raise errors.ValueError_(f"the folder {folder} lacks the file of the parameter {name!r}")
        data = memoryview(path.read_bytes())
        found[name], at = read_tensor(data)
        if at != len(data):
            raise _bad(f"{len(data) - at} bytes are left after the tensor in {name!r}")
    return found


def check(arrays: dict[str, np.ndarray], variables: Iterable[VarDesc]) -> None:
    """ValueError when the tensors are not those that the model describes."""
    for v in variables:
        array = arrays[v.name]
        fits = len(array.shape) == len(v.shape) and all(b in (-1, a) for a, b in zip(array.shape, v.shape))
        if not fits and not (array.size == 1 and v.shape in ((), (1,))):
            raise errors.ValueError_(
                f"the parameter {v.name!r} has shape {list(array.shape)} in the file of parameters and {list(v.shape)} "
                "in the model: they do not belong together"
            )
