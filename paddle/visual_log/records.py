"""Files of records: lengths, contents and checksums, as TensorBoard reads them (the TFRecord framing).

A record is its length (8 bytes), the masked CRC-32C of those 8 bytes, the content, and the masked CRC-32C of it.
CRC-32C is the Castagnoli polynomial, RFC 3720, appendix B.4.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import BinaryIO

import numpy as np

from ..engine import errors

_POLYNOMIAL = 0x82F63B78  # reversed


def _tables() -> list[list[int]]:
    """Eight tables: a step of the checksum for a byte that lies 0 to 7 bytes before the end."""
    first = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        first = np.where(first & 1, (first >> 1) ^ np.uint32(_POLYNOMIAL), first >> 1).astype(np.uint32)
    tables = [first]
    for _ in range(7):
        last = tables[-1]
        tables.append(first[last & 0xFF] ^ (last >> 8))
    return [table.tolist() for table in tables]


_TABLES: list[list[int]] = []


def crc32c(data: bytes) -> int:
    """The CRC-32C of bytes.

    Example:
        >>> from paddle.visual_log.records import crc32c
        >>> hex(crc32c(b"123456789"))
        '0xe3069283'
    """
    if not _TABLES:
        _TABLES.extend(_tables())
    t0, t1, t2, t3, t4, t5, t6, t7 = _TABLES
    crc = 0xFFFFFFFF
    whole = len(data) & ~7
    for low, high in struct.iter_unpack("<II", data[:whole]):
        low ^= crc
        crc = (
            t7[low & 0xFF]
            ^ t6[low >> 8 & 0xFF]
            ^ t5[low >> 16 & 0xFF]
            ^ t4[low >> 24]
            ^ t3[high & 0xFF]
            ^ t2[high >> 8 & 0xFF]
            ^ t1[high >> 16 & 0xFF]
            ^ t0[high >> 24]
        )
    for byte in data[whole:]:
        crc = t0[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF


def _masked(data: bytes) -> bytes:
    crc = crc32c(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def frame(content: bytes) -> bytes:
    """One record, ready to be written."""
    length = struct.pack("<Q", len(content))
    return length + _masked(length) + content + _masked(content)


def complete(file: BinaryIO, name: str) -> int:
    """The length of a file without a last record that is not complete. ValueError where a length is damaged."""
    total = file.seek(0, 2)
    end = file.seek(0)
    while len(head := file.read(12)) == 12:
        following = end + 16 + _length(head, name)
        if following > total:
            break
        end = file.seek(following)
    return end


def _length(head: bytes, name: str) -> int:
    if _masked(head[:8]) != head[8:]:
        raise errors.ValueError_(f"LogReader: {name} is damaged: the checksum of a length is wrong")
    return struct.unpack("<Q", head[:8])[0]


def read_frames(file: BinaryIO, name: str) -> Iterator[bytes]:
    """The contents of the records of a file. A last record that is not complete (the writer is still at work, or was
    ended) is left out.

    Raises:
        ValueError: a checksum is wrong.
    """
    while len(head := file.read(12)) == 12:
        length = _length(head, name)
        content = file.read(length + 4)
        if len(content) < length + 4:
            return
        if _masked(content[:length]) != content[length:]:
            raise errors.ValueError_(f"LogReader: {name} is damaged: the checksum of a record is wrong")
        yield content[:length]
