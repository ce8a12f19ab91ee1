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

import json
import os
import struct
import zlib
from typing import Any, NamedTuple

__all__ = ["HEAD", "MAGIC", "Packed", "pack", "read_file", "unpack"]

MAGIC = b"PDLT-NB1"
HEAD = struct.Struct("<8sIQI")
PRECISIONS = ("fp32", "fp16")
QUANTIZED = ("", "int8", "int16", "int8_activations")


class Packed(NamedTuple):
    """What a file holds: the description and the model."""

    about: dict[str, Any]
    model: memoryview


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
    if len(view) < HEAD.size or view[: len(MAGIC)] != MAGIC:
        what = "is empty" if not len(view) else "does not begin like one"
        if 0 < len(view) < HEAD.size and MAGIC.startswith(bytes(view[: len(MAGIC)])):
            what = f"ends after {len(view)} bytes"
        raise ValueError(f"{name} is no .nb file of paddlelite: it {what}; make one with paddlelite.Opt")
    _, about_size, model_size, sum_ = HEAD.unpack_from(view)
    wanted = HEAD.size + about_size + model_size
    if len(view) != wanted:
        raise ValueError(f"{name}: the file is damaged: it has {len(view)} bytes, its head announces {wanted}")
    if zlib.crc32(view[HEAD.size :], zlib.crc32(view[: HEAD.size - 4])) != sum_:
        raise ValueError(f"{name}: the file is damaged: its checksum does not fit")
    start = HEAD.size + about_size
    try:
        about = json.loads(bytes(view[HEAD.size : start]))
    except (ValueError, RecursionError):
        raise ValueError(f"{name}: the description in the file cannot be read") from None
    _check(about, name)
    return Packed(about, view[start:])


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


def read_file(path: Any, where: str) -> bytes:
    """The contents of a file. TypeError for what is no path, FileNotFoundError or OSError, naming it."""
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"{where}: a path is needed, got {type(path).__name__}")
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        raise FileNotFoundError(f"{where}: the file {os.fspath(path)!r} is not there") from None
    except (OSError, ValueError) as e:  # ValueError: a zero byte in the name
        raise OSError(f"{where}: the file {os.fspath(path)!r} cannot be read: {e}") from None
