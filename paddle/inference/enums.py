"""Types, places and precisions of the inference engine."""

from __future__ import annotations

import enum


class DataType(enum.IntEnum):
    """The type of the elements of an input or output."""

    FLOAT64 = 0
    FLOAT32 = 1
    FLOAT16 = 2
    BFLOAT16 = 3
    INT64 = 4
    INT32 = 5
    UINT8 = 6
    INT8 = 7
    BOOL = 8


class PlaceType(enum.IntEnum):
    """The kind of a device."""

    UNK = -1
    CPU = 0
    GPU = 1
    XPU = 2
    CUSTOM = 4


class PrecisionType(enum.IntEnum):
    """What a network is computed in."""

    Float32 = 0
    Int8 = 1
    Half = 2
    Bfloat16 = 3


NAMES = {
    DataType.FLOAT64: "float64",
    DataType.FLOAT32: "float32",
    DataType.FLOAT16: "float16",
    DataType.BFLOAT16: "bfloat16",
    DataType.INT64: "int64",
    DataType.INT32: "int32",
    DataType.UINT8: "uint8",
    DataType.INT8: "int8",
    DataType.BOOL: "bool",
}
