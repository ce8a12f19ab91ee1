"""Vectors of numbers in MATLAB files of version 5 (MathWorks, "MAT-File Format", level 5)."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator

import numpy as np

from ...engine import errors

_NUMBERS = {
    1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"
}  # fmt: skip
_MATRIX, _COMPRESSED = 14, 15
_LONGEST = 1 << 26  # bytes that a compressed part may become


def _parts(data: bytes, order: str) -> Iterator[tuple[int, bytes]]:
    """Kind and content of the elements that follow each other."""
    at = 0
    while len(data) - at >= 8:
        kind, size = struct.unpack_from(order + "2I", data, at)
        if kind >> 16:  # up to four bytes lie in the tag itself
            size, kind, start, end = kind >> 16, kind & 0xFFFF, at + 4, at + 8
        else:
            start = at + 8
            end = start + size + (0 if kind == _COMPRESSED else -size % 8)
        if size > end - start or start + size > len(data):
            raise ValueError("it ends early")
        yield kind, data[start : start + size]
        at = end


def _matrices(data: bytes, order: str) -> Iterator[bytes]:
    for kind, content in _parts(data, order):
        if kind == _COMPRESSED:
            inflater = zlib.decompressobj()
            plain = inflater.decompress(content, _LONGEST)
            if not inflater.eof:
                raise ValueError("a compressed part is not whole, or too long")
            yield from (matrix for inner, matrix in _parts(plain, order) if inner == _MATRIX)
        elif kind == _MATRIX:
            yield content


def _find(data: bytes, key: str) -> np.ndarray | None:
    order = {b"IM": "<", b"MI": ">"}.get(data[126:128])
    if order is None or len(data) < 128:
        raise ValueError("it does not begin as one")
    for matrix in _matrices(data[128:], order):
        parts = _parts(matrix, order)
        _, _, (_, name) = next(parts), next(parts), next(parts)
        if name.decode("latin1") == key:
            kind, content = next(parts)
            if kind not in _NUMBERS:
                raise ValueError(f"{key} holds no numbers")
            return np.frombuffer(content, order + _NUMBERS[kind])
    return None


def vector(data: bytes, key: str, where: str) -> np.ndarray:
    """The whole numbers [length] under a name in the bytes of a MATLAB file. ValueError for other files and damaged ones.

    SciPy's reader would do as well, but ends the process for some damaged files.
    """
    try:
        found = _find(data, key)
    except (ValueError, StopIteration, zlib.error, struct.error) as e:
        raise errors.ValueError_(f"{where} is no MATLAB file, or it is damaged ({e or 'it ends early'})") from None
    if found is None:
        raise errors.ValueError_(f"{where} is not the file of Flowers: there is no {key} in it")
    if found.dtype.kind == "f" and not (np.abs(found) < 2**53).all():
        raise errors.ValueError_(f"{where}: {key} holds no whole numbers")
    return found.astype("int64")
