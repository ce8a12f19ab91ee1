"""The process behind the Java classes: models in, tensors in, tensors out, over its standard input and output.

A message is one byte, its kind, eight bytes, the length of what follows, and that many bytes; numbers are big endian,
elements of tensors little endian. Kinds: "L" load, "R" run, "K" done, "E" an error as text. It ends when its input ends.

    L   power mode (1 byte), threads (4), name of a back end or nothing (2 + n), the contents of an .nb file
    R   number of tensors (4), then each: type (1), rank (1), lengths (8 each), elements
    K   after L: inputs, then outputs: number (4), each: name (2 + n), type, rank, lengths (-1: any)
        after R: the outputs, as in R
"""

from __future__ import annotations

import os
import struct
import sys
from typing import Any, BinaryIO

import numpy as np

from .enums import PrecisionType

__all__ = ["main", "serve"]

_TYPES = {
    int(PrecisionType[name]): np.dtype(dtype).newbyteorder("<")
    for name, dtype in (("FP32", "f4"), ("INT8", "i1"), ("INT32", "i4"), ("FP16", "f2"), ("BOOL", "?"),
                        ("INT64", "i8"), ("INT16", "i2"), ("UINT8", "u1"), ("FP64", "f8"))
}  # fmt: skip


class _Reader:
    """Takes fields from the front of a message. ValueError where it is too short."""

    def __init__(self, data: bytes):
        self._data, self._at = memoryview(data), 0

    def bytes(self, count: int) -> memoryview:
        if count > len(self._data) - self._at:
            raise ValueError("the message is too short")
        self._at += count
        return self._data[self._at - count : self._at]

    def number(self, form: str) -> int:
        return struct.unpack(">" + form, self.bytes(struct.calcsize(form)))[0]

    def rest(self) -> memoryview:
        return self.bytes(len(self._data) - self._at)

    def tensor(self) -> np.ndarray:
        kind, rank = self.number("B"), self.number("B")
        if kind not in _TYPES:
            raise ValueError(f"the type {kind} is unknown")
        shape = [self.number("q") for _ in range(rank)]
        size = 1
        for n in shape:
            if n < 0:
                raise ValueError(f"the shape {shape} is wrong")
            size *= n
        elements = self.bytes(size * _TYPES[kind].itemsize)
        return np.frombuffer(elements, _TYPES[kind]).reshape(shape)


def _described(tensor: Any) -> bytes:
    name, shape = tensor.name().encode(), tensor.shape()
    head = struct.pack(">H", len(name)) + name + struct.pack(">BB", tensor.precision(), len(shape))
    return head + struct.pack(f">{len(shape)}q", *shape)


def _contents(tensor: Any) -> bytes:
    array = tensor._value("run")
    kind = int(tensor.precision())
    if kind not in _TYPES:
        raise ValueError(f"the type {array.dtype} of {tensor.name()!r} is not passed to Java")
    head = struct.pack(f">BB{array.ndim}q", kind, array.ndim, *array.shape)
    return head + np.ascontiguousarray(array, _TYPES[kind]).tobytes()


def _load(message: _Reader) -> tuple[Any, bytes]:
    from . import MobileConfig, create_predictor

    config = MobileConfig()
    config.set_power_mode(message.number("B"))
    config.set_threads(message.number("i"))
    backend = bytes(message.bytes(message.number("H"))).decode()
    if backend:
        config.set_backend(backend)
    config.set_model_from_buffer(message.rest())
    predictor = create_predictor(config)
    answer = b""
    for ports in (predictor._inputs, predictor._outputs):
        answer += struct.pack(">I", len(ports)) + b"".join(map(_described, ports))
    return predictor, answer


def _run(predictor: Any, message: _Reader) -> bytes:
    if predictor is None:
        raise ValueError("no model is loaded")
    if message.number("I") != len(predictor._inputs):
        raise ValueError(f"the model has {len(predictor._inputs)} inputs")
    for tensor in predictor._inputs:
        tensor.from_numpy(message.tensor())
    predictor.run()
    outputs = predictor._outputs
    return struct.pack(">I", len(outputs)) + b"".join(map(_contents, outputs))


def _exactly(source: BinaryIO, count: int) -> bytes | None:
    """So many bytes; None when the other side is gone."""
    parts = []
    while count:
        part = source.read(min(count, 1 << 20))
        if not part:
            return None
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def serve(source: BinaryIO, sink: BinaryIO) -> None:
    """Answer messages until there are no more."""
    predictor = None
    while (head := _exactly(source, 9)) is not None:
        body = _exactly(source, int.from_bytes(head[1:], "big"))
        if body is None:
            return
        try:
            if head[:1] == b"L":
                predictor, answer = _load(_Reader(body))
            elif head[:1] == b"R":
                answer = _run(predictor, _Reader(body))
            else:
                raise ValueError(f"the message {head[:1]!r} is unknown")
            kind = b"K"
        except Exception as e:  # the other side shows it
            kind, answer = b"E", f"{type(e).__name__}: {e}".encode()
        sink.write(kind + len(answer).to_bytes(8, "big"))
        sink.write(answer)
        sink.flush()


def main() -> None:
    """Serve the process that started this one."""
    sink = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what anything prints must not get between the answers
    try:
        serve(sys.stdin.buffer, sink)
    except BrokenPipeError:
        os._exit(0)


if __name__ == "__main__":
    main()
