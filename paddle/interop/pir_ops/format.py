"""The notation of official `.json` model files: programs as trees of operations, their attributes and types.

An operation is ``{"#": "1.relu", "I": [{"%": 3}], "O": [{"%": 4, "TT": type}], "A": attributes, "OA": more attributes}``;
"0." stands for the dialect `builtin`, "1." for `pd_op`, "2." for `cf`. Value 0 is an operand that is absent. Parameters
have a shorter form, ``{"#": "p", "A": [is distributed, ..., name], "O": value,
"OA": [persistable, stop_gradient, trainable]}``. The blocks of branches
and loops are in "regions"; what is handed to a block has negative numbers.
"""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

from ...engine import errors
from .schema import Interface, interface

VERSION = 4
DTYPES = {
    "t_bf16": "bfloat16", "t_bool": "bool", "t_c128": "complex128", "t_c64": "complex64", "t_f16": "float16",
    "t_f32": "float32", "t_f64": "float64", "t_f8e4m3fn": "float8_e4m3fn", "t_f8e5m2": "float8_e5m2", "t_i16": "int16",
    "t_i32": "int32", "t_i64": "int64", "t_i8": "int8", "t_ui8": "uint8",
}  # fmt: skip
_TYPE_OF = {name: tag for tag, name in DTYPES.items()}
_NOT_FINITE = {"NaN": math.nan, "INF": math.inf, "-INF": -math.inf}
_DEEPEST = 64  # blocks in blocks
_RANKS = 32


def damaged(what: str) -> Exception:
    return errors.ValueError_(f"the model file is damaged or of another kind: {what}")


class Type:
    """The type of a value: of a tensor (`dtype`, `shape`), or of a list (`items`)."""

    __slots__ = ("dtype", "shape", "items")

    def __init__(self, dtype: str | None, shape: tuple[int, ...], items: tuple[Type, ...] | None = None):
        self.dtype = dtype
        self.shape = shape
        self.items = items


class Node:
    """An operation of a file."""

    __slots__ = ("name", "attributes", "operands", "results", "regions")

    def __init__(self, name: str, attributes: dict, operands: list, results: list, regions: list):
        self.name = name
        self.attributes: dict[str, Any] = attributes
        self.operands: list[int] = operands
        self.results: list[tuple[int, Type | None]] = results
        self.regions: list[list[Region]] = regions


class Region:
    """A block: what is handed in, and its operations."""

    __slots__ = ("arguments", "nodes")

    def __init__(self, arguments: list, nodes: list):
        self.arguments: list[tuple[int, Type | None]] = arguments
        self.nodes: list[Node] = nodes


# ---- reading ----


def _get(tree: Any, key: str, kind: Any, where: str) -> Any:
    if not isinstance(tree, dict) or not isinstance(tree.get(key), kind) or isinstance(tree[key], bool):
        raise damaged(f"{where} has no proper {key!r}")
    return tree[key]


def parse(data: bytes | str) -> Region:
    """The main block of a file. ValueError for anything that is no model of a known version."""
    try:
        tree = json.loads(data)
    except (ValueError, RecursionError) as e:
        raise damaged(f"it is no JSON ({e})") from None
    base = _get(tree, "base_code", dict, "the file")
    if base.get("magic") != "pir":
        raise damaged(f"its kind is {base.get('magic')!r}, not 'pir'")
    version = base.get("version")
    if not isinstance(version, int) or version > VERSION:
        raise errors.ValueError_(f"the model file has version {version!r}; versions up to {VERSION} can be read")
    regions = _get(_get(tree, "program", dict, "the file"), "regions", list, "the program")
    blocks = _region(regions[0], 0) if len(regions) == 1 else []
    if len(blocks) != 1:
        raise damaged(f"the program has {len(regions)} regions; it must have one, with one block")
    return blocks[0]


def _region(tree: Any, depth: int) -> list[Region]:
    if depth > _DEEPEST:
        raise damaged(f"more than {_DEEPEST} blocks inside each other")
    return [_block(b, depth) for b in _get(tree, "blocks", list, "a region")]


def _block(tree: Any, depth: int) -> Region:
    arguments = [_result(a, "#") for a in _get(tree, "args", list, "a block")]
    for key in ("kwargs",):
        if tree.get(key):
            raise errors.NotImplemented_(f"the model file: blocks with {key}")
    return Region(arguments, [_node(o, depth) for o in _get(tree, "ops", list, "a block")])


def _node(tree: Any, depth: int) -> Node:
    name = _get(tree, "#", str, "an operation")
    if name == "p":
        fields = _get(tree, "A", list, "a parameter")
        if len(fields) != 4 or not isinstance(fields[3], str):
            raise damaged("a parameter without a name")
        kept = tree.get("OA")  # persistable, stop_gradient, trainable
        if not isinstance(kept, list) or len(kept) != 3:
            kept = [1, 1, 0]
        attributes = {"name": fields[3], "persistable": kept[0] == 1, "trainable": kept[2] == 1}
        return Node(name, attributes, [], [_result(tree.get("O"))], [])
    results = [_result(r) for r in _get(tree, "O", list, f"the operation {name}")]
    operands = [_get(i, "%", int, f"an operand of {name}") for i in _get(tree, "I", list, f"the operation {name}")]
    attributes = {}
    for a in _get(tree, "A", list, f"the operation {name}"):
        attributes[_get(a, "N", str, f"an attribute of {name}")] = _attribute(
            _get(a, "AT", dict, f"an attribute of {name}"), name
        )
    regions = [_region(r, depth + 1) for r in _get(tree, "regions", list, name)] if "regions" in tree else []
    return Node(name, attributes, operands, results, regions)


def _result(tree: Any, key: str = "%") -> tuple[int, Type | None]:
    number = _get(tree, key, int, "a value")
    return number, _type(tree["TT"]) if tree.get("TT") is not None else None


def _type(tree: Any) -> Type | None:
    tag = _get(tree, "#", str, "a type").partition(".")[2]
    if tag == "t_vec":
        return Type(None, (), tuple(_type(t) or Type(None, ()) for t in _get(tree, "D", list, "a type")))
    if tag != "t_dtensor":
        return None  # stacks and the like: not needed as long as nobody uses the value
    fields = _get(tree, "D", list, "a type")
    if len(fields) < 2 or not isinstance(fields[1], list) or len(fields[1]) > _RANKS:
        raise damaged("the type of a tensor without a shape")
    dtype = DTYPES.get(_get(fields[0], "#", str, "a type").partition(".")[2])
    shape = fields[1]
    if dtype is None or not all(type(n) is int and -(2**62) < n < 2**62 for n in shape):
        raise damaged(f"a tensor of type {fields[0]} and shape {shape}")
    return Type(dtype, tuple(shape))


def _attribute(tree: Any, owner: str) -> Any:
    """The Python value of an attribute: number, text, list; the name of a data type; None for a place."""
    tag = _get(tree, "#", str, f"an attribute of {owner}").partition(".")[2]
    data = tree.get("D")
    number = isinstance(data, (int, float)) and not isinstance(data, bool)
    if tag == "a_array" and isinstance(data, list):
        return [_attribute(d, owner) for d in data]
    if tag == "a_bool" and isinstance(data, (bool, int)):
        return bool(data)
    if tag in ("a_i32", "a_i64", "a_index") and type(data) is int and -(2**63) <= data < 2**63:
        return data
    if tag in ("a_f32", "a_f64") and number and abs(data) < 1e400:
        return float(data)
    if tag in ("a_f32", "a_f64") and tree.get("VD") in _NOT_FINITE:
        return _NOT_FINITE[tree["VD"]]
    if tag in ("a_str", "a_tensorname", "a_dtype") and isinstance(data, str):
        return data
    if tag == "a_intarray" and isinstance(data, list) and all(type(d) is int for d in data):
        return list(data)
    if tag == "a_place":
        return None
    if tag in ("a_c64", "a_c128") and isinstance(data, list) and len(data) == 2:
        return complex(*data)
    if tag == "a_scalar":
        return _scalar(data, owner)
    raise damaged(f"an attribute {tag!r} of {owner}: {str(data)[:80]}")


def _scalar(data: Any, owner: str) -> Any:
    if isinstance(data, list) and len(data) == 2 and isinstance(data[1], (int, float, bool)):
        return data[1]
    if isinstance(data, (int, float, bool)):
        return data
    raise damaged(f"a number of {owner}: {str(data)[:80]}")


# ---- writing ----

_INTEGERS = {"i": "0.a_i32", "l": "0.a_i64", "I": "0.a_i32", "L": "0.a_i64"}


def type_tree(dtype: str, shape: Any) -> dict:
    tag = _TYPE_OF.get(dtype)
    if tag is None:
        raise errors.NotImplemented_(f"official model files: tensors of type {dtype}")
    return {"#": "0.t_dtensor", "D": [{"#": "0." + tag}, [int(n) for n in shape], "NCHW", [], 0]}


def list_tree(types: list[dict]) -> dict:
    return {"#": "0.t_vec", "D": types}


def dtype_name(dtype: Any) -> str:
    """The name of a NumPy type, or of a type of the framework."""
    name = getattr(dtype, "name", None) or str(dtype)
    return name.rpartition(".")[2]


def attribute_tree(name: str, kind: str, value: Any) -> dict:
    """An attribute in its notation; `kind` as in `schema`."""
    if kind in _INTEGERS and kind in "il":
        tree: Any = {"#": _INTEGERS[kind], "D": int(value)}
    elif kind in "IL":
        tree = _array([{"#": _INTEGERS[kind], "D": int(v)} for v in value])
    elif kind == "A":
        tree = {"#": "1.a_intarray", "D": [int(v) for v in value]}
    elif kind == "b":
        tree = {"#": "0.a_bool", "D": bool(value)}
    elif kind in "fd":
        tree = _float(kind, value)
    elif kind in "FD":
        tree = _array([_float(kind.lower(), v) for v in value])
    elif kind == "s":
        tree = {"#": "0.a_str", "D": str(value)}
    elif kind == "S":
        tree = _array([{"#": "0.a_str", "D": str(v)} for v in value])
    elif kind == "t":
        tree = {"#": "1.a_dtype", "D": dtype_name(value) if value else "Undefined(ALL_DTYPE)"}
    else:  # a place: the CPU where it must be, else where the program runs
        tree = {"#": "1.a_place", "D": [1 if value == "cpu" else 0, 0, ""]}
    return {"AT": tree, "N": name}


def _array(items: list[dict]) -> dict:
    return {"#": "0.a_array", "D": items}


def _float(kind: str, value: Any) -> dict:
    number = float(np.float32(value)) if kind == "f" else float(value)
    tag = "0.a_f32" if kind == "f" else "0.a_f64"
    if math.isfinite(number):
        return {"#": tag, "D": number}
    return {"#": tag, "VD": next(k for k, v in _NOT_FINITE.items() if str(v) == str(number))}


def flags_tree(name: str, flags: list[bool]) -> dict:
    """What the file keeps of the results, one flag a result."""
    return {"AT": _array([{"#": "0.a_bool", "D": f} for f in flags]), "N": name}


__all__ = ["DTYPES", "Interface", "Node", "Region", "Type", "interface", "parse"]
