"""ProgramDesc, the protocol buffer of `.pdmodel` and `__model__` files, read into plain objects.

The reader knows the wire format and the few messages that matter; it runs nothing, looks no deeper than the messages
nest, and reports every malformed file as a ValueError. Source of the field numbers: the official framework.proto.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..engine import errors

# VarType.Type: element types, and the kinds of variables that are not tensors
DTYPES = {
    0: "bool", 1: "int16", 2: "int32", 3: "int64", 4: "float16", 5: "float32", 6: "float64", 19: "uint64", 20: "uint8",
    21: "int8", 22: "bfloat16", 23: "complex64", 24: "complex128", 32: "float8_e4m3fn", 33: "float8_e5m2",
    36: "uint16", 37: "uint32", 38: "uint64",
}  # fmt: skip
CODES = {name: code for code, name in reversed(DTYPES.items())} | {"uint64": 38}
TENSOR, SELECTED_ROWS, FEED, FETCH, ARRAY, READER, RAW = 7, 8, 9, 10, 13, 15, 17

MOST = 2_000_000  # messages in a file


class Name(str):
    """An attribute that names a variable: its value is found when the program is built."""


@dataclass
class VarDesc:
    """A variable: its name, kind (TENSOR, ARRAY, ...), element type or None, lengths (-1: unknown)."""

    name: str
    kind: int
    dtype: str | None
    shape: tuple[int, ...]
    persistable: bool


@dataclass
class OpDesc:
    """An operator: its type, names of variables by slot, attributes by name."""

    type: str
    inputs: dict[str, list[str]]
    outputs: dict[str, list[str]]
    attributes: dict[str, Any]

    def reads(self) -> Iterator[str]:
        """The names of the variables that it needs, those in its attributes included."""
        for names in self.inputs.values():
            yield from names
        for value in self.attributes.values():
            for found in value if isinstance(value, list) else [value]:
                if isinstance(found, Name):
                    yield found


@dataclass
class BlockDesc:
    index: int
    parent: int
    variables: dict[str, VarDesc]
    operators: list[OpDesc]


@dataclass
class ProgramDesc:
    """Blocks, the first one is the program; `version` of the writer (2006001 is 2.6.1), versions of operators."""

    blocks: list[BlockDesc]
    version: int = 0
    operator_versions: dict[str, int] = field(default_factory=dict)

    def persistables(self) -> list[VarDesc]:
        """The variables that parameter files hold, in the order of a combined file."""
        found = {
            v.name: v
            for b in self.blocks
            for v in b.variables.values()
            if v.persistable and v.kind in (TENSOR, SELECTED_ROWS)
        }
        return [found[name] for name in sorted(found)]


# ---- wire format ----


def _bad(what: str) -> Exception:
    return errors.ValueError_(f"the file is not a whole ProgramDesc (.pdmodel): {what}")


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    """(value, next position)."""
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise _bad(f"a number that does not end at byte {at}")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, at
        shift += 7


def _fields(data: memoryview) -> Iterator[tuple[int, int, Any]]:
    """(number, wire type, value) of every field: ints for numbers, a memoryview for everything else."""
    at, end = 0, len(data)
    while at < end:
        key, at = _varint(data, at)
        number, wire = key >> 3, key & 7
        if number == 0 or number > 536870911:
            raise _bad(f"a field with number {number}")
        if wire == 0:
            value, at = _varint(data, at)
            yield number, wire, value
            continue
        if wire == 2:
            size, at = _varint(data, at)
        elif wire in (1, 5):
            size = 8 if wire == 1 else 4
        else:
            raise _bad(f"a field of wire type {wire}")
        if size > end - at:
            raise _bad(f"a field of {size} bytes where {end - at} are left")
        yield number, wire, data[at : at + size]
        at += size


def _signed(value: Any) -> int:
    if type(value) is not int:
        raise _bad("bytes where a number should be")
    return value - (1 << 64) if value >> 63 else value


def _int32(value: Any) -> int:
    low = _signed(value) & 0xFFFFFFFF
    return low - (1 << 32) if low >> 31 else low


def _bool(value: Any) -> bool:
    return bool(_signed(value))


def _bytes(value: Any) -> memoryview:
    if type(value) is int:
        raise _bad("a number where bytes should be")
    return value


def _text(value: Any) -> str:
    return bytes(_bytes(value)).decode("utf-8", "surrogateescape")


def _name(value: Any) -> str:
    try:
        return bytes(_bytes(value)).decode("utf-8")
    except UnicodeDecodeError:
        raise _bad("a name that is not UTF-8") from None


def _real(code: str) -> Callable:
    size = struct.calcsize(code)

    def read(value: Any) -> float:
        if len(_bytes(value)) != size:
            raise _bad("a floating point number of a wrong size")
        return struct.unpack("<" + code, value)[0]

    return read


def _float(value: Any) -> float:
    """The shortest decimal number for a float32, so that 0.001 is 0.001."""
    found = _single(value)
    return float(str(np.float32(found)))


_single, _double = _real("f"), _real("d")


def _repeated(wire: int, value: Any, read: Callable) -> list:
    """The elements of a repeated number, packed or not."""
    if read in (_float, _double):
        size = 4 if read is _float else 8
        if wire == 2 and len(value) % size:
            raise _bad("packed floating point numbers of a wrong size")
        return [read(value[i : i + size]) for i in range(0, len(value), size)] if wire == 2 else [read(value)]
    if wire == 2:
        found, at = [], 0
        while at < len(value):
            number, at = _varint(value, at)
            found.append(read(number))
        return found
    return [read(value)]


class _Reader:
    """Reads the messages, counting them."""

    def __init__(self) -> None:
        self.count = 0

    def message(self, value: Any) -> Iterator[tuple[int, int, Any]]:
        self.count += 1
        if self.count > MOST:
            raise _bad(f"more than {MOST} messages")
        return _fields(_bytes(value))

    # OpDesc.Attr: field numbers by AttrType, how one element is read, whether it is a list
    ATTRIBUTES = {
        0: (3, _int32, False), 1: (4, _float, False), 2: (5, _text, False), 3: (6, _int32, True), 4: (7, _float, True),
        5: (8, _text, True), 6: (10, _bool, False), 7: (11, _bool, True), 8: (12, _int32, False), 9: (13, _signed, False),
        10: (14, _int32, True), 11: (15, _signed, True), 12: (16, _double, True), 13: (17, _name, False),
        14: (18, _name, True), 15: (19, _double, False), 16: (20, None, False), 17: (21, None, True),
    }  # fmt: skip
    EMPTY = {_int32: 0, _signed: 0, _float: 0.0, _double: 0.0, _bool: False, _text: "", _name: ""}

    def attribute(self, data: Any) -> tuple[str, Any]:
        name, kind, raw = None, None, []
        for number, wire, value in self.message(data):
            if number == 1:
                name = _name(value)
            elif number == 2:
                kind = _signed(value)
            else:
                raw.append((number, wire, value))
        if name is None or kind not in self.ATTRIBUTES:
            raise _bad(f"an attribute {name!r} of type {kind}")
        wanted, read, several = self.ATTRIBUTES[kind]
        if name == "op_callstack":  # where the writer's user called the operator: long, and of no use
            return name, []
        found: list = []
        for number, wire, value in raw:
            if number == wanted:
                if read is None:
                    found.append(self.scalar(value))
                elif read in (_text, _name):
                    found.append(read(value))
                elif several:
                    found.extend(_repeated(wire, value, read))
                else:
                    found.append(read(value))
        if kind in (13, 14):
            found = [Name(n) for n in found]
        if several:
            return name, found
        return name, found[-1] if found else self.EMPTY.get(read)  # type: ignore[arg-type]

    def scalar(self, data: Any) -> Any:
        kind, values = None, {}
        for number, _, value in self.message(data):
            if number == 1:
                kind = _signed(value)
            else:
                values[number] = value
        if kind == 1:
            return _bool(values.get(2, 0))
        if kind == 2:
            return _signed(values.get(3, 0))
        if kind == 3:
            return _double(values[4]) if 4 in values else 0.0
        if kind == 4:
            parts = {number: _double(value) for number, _, value in self.message(values.get(5, memoryview(b"")))}
            return complex(parts.get(1, 0.0), parts.get(2, 0.0))
        raise _bad(f"a scalar of type {kind}")

    def slot(self, data: Any) -> tuple[str, list[str]]:
        name, arguments = None, []
        for number, _, value in self.message(data):
            if number == 1:
                name = _name(value)
            elif number == 2:
                arguments.append(_name(value))
        if name is None:
            raise _bad("a slot of an operator without a name")
        return name, arguments

    def operator(self, data: Any) -> OpDesc:
        kind, inputs, outputs, attributes = None, {}, {}, {}
        for number, _, value in self.message(data):
            if number == 3:
                kind = _name(value)
            elif number in (1, 2):
                name, arguments = self.slot(value)
                (inputs if number == 1 else outputs)[name] = arguments
            elif number == 4:
                name, found = self.attribute(value)
                attributes[name] = found
        if kind is None:
            raise _bad("an operator without a type")
        return OpDesc(kind, inputs, outputs, attributes)

    def tensor(self, data: Any) -> tuple[str | None, tuple[int, ...]]:
        code, lengths = None, []
        for number, wire, value in self.message(data):
            if number == 1:
                code = _signed(value)
            elif number == 2:
                lengths.extend(_repeated(wire, value, _signed))
        return DTYPES.get(code), tuple(lengths)  # type: ignore[arg-type]

    def variable(self, data: Any) -> VarDesc:
        name, kind, persistable, dtype, shape = None, None, False, None, ()
        for number, _, value in self.message(data):
            if number == 1:
                name = _name(value)
            elif number == 3:
                persistable = _bool(value)
            elif number == 2:
                for inner, _, content in self.message(value):
                    if inner == 1:
                        kind = _signed(content)
                    elif inner == 2:  # rows of a sparse gradient
                        dtype, shape = self.tensor(content)
                    elif inner in (3, 4):  # a tensor, an array of tensors
                        for deep, _, desc in self.message(content):
                            if deep == 1:
                                dtype, shape = self.tensor(desc)
        if name is None or kind is None:
            raise _bad(f"a variable {name!r} of kind {kind}")
        return VarDesc(name, kind, dtype, shape, persistable)

    def block(self, data: Any) -> BlockDesc:
        index, parent, variables, operators = None, -1, {}, []
        for number, _, value in self.message(data):
            if number == 1:
                index = _int32(value)
            elif number == 2:
                parent = _int32(value)
            elif number == 3:
                found = self.variable(value)
                variables[found.name] = found
            elif number == 4:
                operators.append(self.operator(value))
        if index is None:
            raise _bad("a block without a number")
        return BlockDesc(index, parent, variables, operators)

    def program(self, data: Any) -> ProgramDesc:
        program = ProgramDesc([])
        for number, _, value in self.message(data):
            if number == 1:
                program.blocks.append(self.block(value))
            elif number == 4:
                for inner, _, content in self.message(value):
                    if inner == 1:
                        program.version = _signed(content)
            elif number == 5:
                for inner, _, pair in self.message(value):
                    if inner == 1:
                        self.version(pair, program.operator_versions)
        return program

    def version(self, pair: Any, versions: dict[str, int]) -> None:
        name, version = "", 0
        for number, _, value in self.message(pair):
            if number == 1:
                name = _name(value)
            elif number == 2:
                for inner, _, content in self.message(value):
                    if inner == 1:
                        version = _int32(content)
        versions[name] = version


def parse(data: bytes) -> ProgramDesc:
    """The program of a `.pdmodel` or `__model__` file.

    Raises:
        ValueError: the bytes are not a ProgramDesc, or blocks and variables do not fit together.
    """
    program = _Reader().program(memoryview(data))
    if not program.blocks:
        raise _bad("there is no block")
    for i, block in enumerate(program.blocks):
        if block.index != i or not (-1 <= block.parent < i):
            raise _bad(f"block {i} says number {block.index}, inside block {block.parent}")
    return program


def parse_tensor_desc(data: bytes | memoryview) -> tuple[str | None, tuple[int, ...]]:
    """(element type or None for an unknown one, lengths) of a TensorDesc."""
    return _Reader().tensor(memoryview(data))


def tensor_desc(dtype: str, shape: tuple[int, ...]) -> bytes:
    """A TensorDesc as bytes."""
    out = bytearray(b"\x08" + _write_varint(CODES[dtype]))
    for length in shape:
        out += b"\x10" + _write_varint(length)
    return bytes(out)


def _write_varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
