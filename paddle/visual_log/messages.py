"""Protocol buffer messages, as far as event files need them: fields as nested tuples and dicts.

Sources: the wire format of protocol buffers; the field numbers of TensorBoard's event.proto, summary.proto,
tensor.proto, graph.proto and of its plugins.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Any

import numpy as np

from ..engine import errors

Fields = Iterable[tuple[int, str, Any]]


def varint(value: int) -> bytes:
    """An integer of variable length; negative ones as 64 bits."""
    value &= 0xFFFFFFFFFFFFFFFF
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def encode(fields: Fields) -> bytes:
    """A message of (number, kind, value). Kinds: "int", "float", "double", "bytes" (also str and encoded messages),
    "floats" and "doubles" (packed). None is left out."""
    out = bytearray()
    for number, kind, value in fields:
        if value is None:
            continue
        if kind == "int":
            out += varint(number << 3) + varint(int(value))
        elif kind == "float":
            out += varint(number << 3 | 5) + struct.pack("<f", value)
        elif kind == "double":
            out += varint(number << 3 | 1) + struct.pack("<d", value)
        else:
            if kind == "floats":
                value = np.asarray(value, "<f4").tobytes()
            elif kind == "doubles":
                value = np.asarray(value, "<f8").tobytes()
            elif isinstance(value, str):
                value = value.encode()
            out += varint(number << 3 | 2) + varint(len(value)) + value
    return bytes(out)


def decode(data: bytes) -> dict[int, list]:
    """The fields of a message by number: ints, or bytes (8 or 4 of them for fixed numbers)."""
    fields: dict[int, list] = {}
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = _varint(data, at)
        elif kind in (1, 5):
            size = 8 if kind == 1 else 4
            value, at = data[at : at + size], at + size
        elif kind == 2:
            size, at = _varint(data, at)
            value, at = data[at : at + size], at + size
        else:
            raise errors.ValueError_(f"LogReader: a field of the unknown kind {kind}")
        if at > len(data):
            raise errors.ValueError_("LogReader: a message ends within a field")
        fields.setdefault(key >> 3, []).append(value)
    return fields


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise errors.ValueError_("LogReader: a message ends within a number")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def signed(value: int) -> int:
    """A decoded int64."""
    return value - (1 << 64) if value >> 63 else value


def text(fields: dict[int, list], number: int) -> str:
    """A string field; "" when it is not there."""
    return fields[number][0].decode(errors="replace") if number in fields else ""


def number(fields: dict[int, list], key: int) -> float:
    """A float or double field; 0 when it is not there."""
    if key not in fields:
        return 0.0
    raw = fields[key][0]
    return struct.unpack("<d" if len(raw) == 8 else "<f", raw)[0]


# ---- the messages ----

_STRING, _FLOAT = 7, 1  # DataType


def event(wall_time: float, step: int | None = None, summary: bytes | None = None, **others: Any) -> bytes:
    """An Event: `summary`, or `file_version` or `graph`."""
    return encode(
        [
            (1, "double", wall_time),
            (2, "int", step),
            (3, "bytes", others.get("file_version")),
            (4, "bytes", others.get("graph")),
            (5, "bytes", summary),
        ]
    )


def summary(tag: str, kind: tuple[int, str, Any], plugin: str = "", content: bytes = b"", title: str = "") -> bytes:
    """A Summary with one value."""
    metadata = None
    if plugin or title:
        data = encode([(1, "bytes", plugin), (2, "bytes", content)]) if plugin else None
        tensor = 2 if kind[0] == 8 else None  # DATA_CLASS_TENSOR
        metadata = encode([(1, "bytes", data), (2, "bytes", title or None), (4, "int", tensor)])
    return encode([(1, "bytes", encode([(1, "bytes", tag), kind, (9, "bytes", metadata)]))])


def tensor(values: Any) -> bytes:
    """A TensorProto of float32 numbers, or of strings."""
    if isinstance(values, (list, tuple)):
        shape, fields = [len(values)], [(8, "bytes", v) for v in values]
        kind = _STRING
    else:
        values = np.asarray(values, np.float32)
        shape, fields, kind = list(values.shape), [(4, "bytes", values.astype("<f4").tobytes())], _FLOAT
    lengths = encode([(2, "bytes", encode([(1, "int", n)])) for n in shape])
    return encode([(1, "int", kind), (2, "bytes", lengths), *fields])


def read_tensor(data: bytes) -> Any:
    """What `tensor` has written: an array or a list of str."""
    fields = decode(data)
    if fields.get(1, [0])[0] == _STRING:
        return [v.decode(errors="replace") for v in fields.get(8, [])]
    lengths = [decode(d).get(1, [0])[0] for d in decode(fields[2][0]).get(2, [])] if 2 in fields else []
    return np.frombuffer(fields.get(4, [b""])[0], "<f4").reshape(lengths)


def image(height: int, width: int, channels: int, encoded: bytes) -> bytes:
    """Summary.Image."""
    return encode([(1, "int", height), (2, "int", width), (3, "int", channels), (4, "bytes", encoded)])


def audio(rate: float, channels: int, frames: int, encoded: bytes) -> bytes:
    """Summary.Audio, a WAV file."""
    return encode(
        [(1, "float", rate), (2, "int", channels), (3, "int", frames), (4, "bytes", encoded), (5, "bytes", "audio/wav")]
    )


def histogram(values: np.ndarray, limits: np.ndarray, counts: np.ndarray) -> bytes:
    """HistogramProto: `limits` are the upper edges of the buckets."""
    return encode(
        [
            (1, "double", values.min()),
            (2, "double", values.max()),
            (3, "double", values.size),
            (4, "double", values.sum()),
            (5, "double", np.square(values).sum()),
            (6, "doubles", limits),
            (7, "doubles", counts),
        ]
    )


def hparam_value(value: Any) -> bytes:
    """google.protobuf.Value."""
    if isinstance(value, bool):
        return encode([(4, "int", value)])
    if isinstance(value, (int, float, np.number)):
        return encode([(2, "double", float(value))])
    return encode([(3, "bytes", str(value))])


def hparams_plugin(field: int, content: bytes) -> bytes:
    """HParamsPluginData: 2 the experiment, 3 the begin of a session, 4 its end."""
    return encode([(1, "int", 0), (field, "bytes", content)])


def graph(nodes: Iterable[tuple[str, str, list[str], dict[str, str]]]) -> bytes:
    """GraphDef of (name, operator, inputs, attributes as text)."""
    encoded = []
    for name, op, inputs, attributes in nodes:
        fields: list = [(1, "bytes", name), (2, "bytes", op), *((3, "bytes", i) for i in inputs)]
        for key, value in attributes.items():
            entry = encode([(1, "bytes", key), (2, "bytes", encode([(2, "bytes", value)]))])
            fields.append((5, "bytes", entry))
        encoded.append((1, "bytes", encode(fields)))
    return encode([*encoded, (4, "bytes", encode([(1, "int", 22)]))])
