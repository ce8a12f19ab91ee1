"""The `.nb` file: one head, one description, one model.

    bytes 0..7    "PDLT-NB1"
          8..11   length of the description in bytes, little endian like all numbers
         12..19   length of the model in bytes
         20..23   CRC-32 of all other bytes
    description   JSON: target, precision, quantized, inputs, outputs
    model         ONNX

It says nothing that is executed. The lengths must add up to the length of the file.
"""

from __future__ import annotations

import contextlib
import json
import os
import struct
import zlib
from collections.abc import Iterator
from typing import Any, BinaryIO, NamedTuple

__all__ = ["HEAD", "MAGIC", "Packed", "pack", "read_file", "unpack", "unpack_file"]

MAGIC = b"PDLT-NB1"
HEAD = struct.Struct("<8sIQI")
PRECISIONS = ("fp32", "fp16")
QUANTIZED = ("", "int8", "int16", "int8_activations")


class Packed(NamedTuple):
    """What a file holds: the description and the model."""

    about: dict[str, Any]
    model: bytes


def pack(about: dict[str, Any], model: bytes) -> bytes:
    """The contents of a file."""
    text = json.dumps(about, ensure_ascii=False, sort_keys=True).encode()
    start = HEAD.pack(MAGIC, len(text), len(model), 0)[:-4]
    return start + zlib.crc32(model, zlib.crc32(text, zlib.crc32(start))).to_bytes(4, "little") + text + model


def unpack(data: Any, name: str = "the buffer") -> Packed:
    """A file's contents, checked.

    Args:
        data: bytes, or anything with a buffer.
        name: what an error calls it.

    Raises:
        ValueError: it is no such file, too short, too long, damaged, or describes something impossible.
    """
    view = memoryview(data).cast("B")
    end = HEAD.size + _lengths(bytes(view[: HEAD.size]), len(view), name)[0]
    return _unpacked(bytes(view[: HEAD.size]), bytes(view[HEAD.size : end]), bytes(view[end:]), name)


def unpack_file(path: Any, where: str) -> Packed:
    """The same of a file, whose model is read into its own place. The errors are those of `unpack` and `read_file`."""
    name = str(path)
    with _opened(path, where) as file:
        head = file.read(HEAD.size)
        about_size, model_size = _lengths(head, os.fstat(file.fileno()).st_size, name)
        return _unpacked(head, file.read(about_size), file.read(model_size), name)


def _lengths(head: bytes, total: int, name: str) -> tuple[int, int]:
    """The lengths of description and model, which add up to the whole; ValueError where they do not."""
    if len(head) < HEAD.size or head[: len(MAGIC)] != MAGIC:
        what = "is empty" if not head else "does not begin like one"
        if 0 < len(head) < HEAD.size and MAGIC.startswith(head[: len(MAGIC)]):
            what = f"ends after {len(head)} bytes"
        raise ValueError(f"{name} is no .nb file of paddlelite: it {what}; make one with paddlelite.Opt")
    _, about_size, model_size, _ = HEAD.unpack(head)
    wanted = HEAD.size + about_size + model_size
    if total != wanted:
        raise ValueError(f"{name}: the file is damaged: it has {total} bytes, its head announces {wanted}")
    return about_size, model_size


def _unpacked(head: bytes, text: bytes, model: bytes, name: str) -> Packed:
    if zlib.crc32(model, zlib.crc32(text, zlib.crc32(head[:-4]))) != HEAD.unpack(head)[3]:
        raise ValueError(f"{name}: the file is damaged: its checksum does not fit")
    try:
        about = json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError(f"{name}: the description in the file cannot be read") from None
    _check(about, name)
    return Packed(about, model)


def _check(about: Any, name: str) -> None:
    """ValueError where a description is not of the form that `Opt` writes."""

    def refuse(field: str) -> None:
        raise ValueError(f"{name}: the description in the file is wrong: {field}")

    if not isinstance(about, dict):
        refuse("it is no table")
    target = about.get("target")
    if not isinstance(target, list) or not target or not all(isinstance(t, str) and t for t in target):
        refuse(f"target is {target!r:.80}")
    if about.get("precision") not in PRECISIONS:
        refuse(f"precision is {about.get('precision')!r:.80}")
    if about.get("quantized") not in QUANTIZED:
        refuse(f"quantized is {about.get('quantized')!r:.80}")
    for field in ("inputs", "outputs"):
        rows = about.get(field)
        if not isinstance(rows, list) or not all(_is_port(r) for r in rows):
            refuse(f"{field} is {rows!r:.80}")


def _is_port(row: Any) -> bool:
    if not isinstance(row, dict) or not isinstance(row.get("name"), str) or not isinstance(row.get("dtype"), str):
        return False
    shape = row.get("shape")
    return isinstance(shape, list) and all(isinstance(n, int) and not isinstance(n, bool) and n >= -1 for n in shape)


@contextlib.contextmanager
def _opened(path: Any, where: str) -> Iterator[BinaryIO]:
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"{where}: a path is needed, got {type(path).__name__}")
    try:
        file = open(path, "rb")
    except FileNotFoundError:
        raise FileNotFoundError(f"{where}: the file {os.fspath(path)!r} is not there") from None
    except (OSError, ValueError) as e:  # ValueError: a zero byte in the name
        raise OSError(f"{where}: the file {os.fspath(path)!r} cannot be read: {e}") from None
    with file:
        yield file


def read_file(path: Any, where: str) -> bytes:
    """The contents of a file. TypeError for what is no path, FileNotFoundError or OSError, naming it."""
    with _opened(path, where) as file:
        return file.read()
