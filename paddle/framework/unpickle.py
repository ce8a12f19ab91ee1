"""Reading pickles that hold tensors, and only such: nothing in the file is ever imported or called.

A pickle is a small program; loading one from a stranger with `pickle.load` runs whatever it names. Here the names that
a file of tensors needs are a closed table (`_ADMITTED`), arrays are rebuilt from checked parts, and lengths, keys and
nesting are bounded, so that a hostile or damaged file ends in a `LoadError`.
"""

from __future__ import annotations

import collections
import math
import pickle
from collections.abc import Callable
from typing import Any, BinaryIO

import ml_dtypes
import numpy as np

MAX_DEPTH = 200  # of containers in containers
_KEY_DEPTH = 8
_KINDS = "biufcSU"  # of NumPy dtypes that may come
_EXTENDED = ("bfloat16", "float8_e4m3fn", "float8_e5m2")  # NumPy knows them as kind "V"


class LoadError(pickle.UnpicklingError, ValueError):
    """The file is damaged, is no file of tensors, or asks for more than such a file may."""


class DTypeRecord:
    """A NumPy dtype of the file, before its byte order is known."""

    def __init__(self, code: Any, align: Any = False, copy: Any = True):
        try:
            dtype = np.dtype(code)
        except (TypeError, ValueError):
            raise LoadError(f"{code!r} is no data type") from None
        if (
            not (isinstance(code, type) or isinstance(code, str))
            or dtype.kind not in _KINDS
            and dtype.name not in _EXTENDED
        ):
            raise LoadError(f"arrays of type {code!r} are not admitted")
        self.dtype = dtype

    def build(self, state: Any) -> None:
        if not isinstance(state, tuple) or len(state) < 2 or any(state[2:5]):
            raise LoadError("a data type with fields or subarrays is not admitted")
        if state[1] in ("<", ">"):
            self.dtype = self.dtype.newbyteorder(state[1])


class ArrayRecord:
    """An array of the file; `array` is read-only, over the bytes that were read."""

    array: np.ndarray = np.zeros(0, "int8")

    def build(self, state: Any) -> None:
        if not isinstance(state, tuple) or len(state) != 5:
            raise LoadError("an array is damaged")
        _, shape, record, fortran, raw = state
        if isinstance(raw, str):  # Python 2 wrote bytes as text
            raw = raw.encode("latin1")
        if not isinstance(record, DTypeRecord) or not isinstance(raw, (bytes, bytearray)):
            raise LoadError("an array of Python objects is not admitted")
        if not isinstance(shape, tuple) or not all(type(d) is int and d >= 0 for d in shape) or len(shape) > 32:
            raise LoadError(f"{shape!r} is no shape")
        if math.prod(shape) * record.dtype.itemsize != len(raw):
            raise LoadError(f"an array of shape {list(shape)} and type {record.dtype.name} has {len(raw)} bytes")
        flat = np.frombuffer(raw, record.dtype) if raw else np.zeros(0, record.dtype)
        native = flat.astype(flat.dtype.newbyteorder("="), copy=False)
        self.array = native.reshape(shape, order="F" if fortran else "C")


def _new_array(*_: Any) -> ArrayRecord:
    return ArrayRecord()


def _scalar(record: Any, raw: Any = None) -> Any:
    one = ArrayRecord()
    one.build((1, (), record, False, raw))
    return one.array[()]


def _encode(text: Any, encoding: Any = "latin1") -> bytes:
    if not isinstance(text, str) or encoding not in ("latin1", "latin-1"):
        raise LoadError(f"text in the encoding {encoding!r} is not admitted")
    return text.encode("latin1")


def _hashable(kind: Callable) -> Callable:
    def make(items: Any = ()) -> Any:
        if not isinstance(items, (list, tuple)):
            raise LoadError(f"a {kind.__name__} is made of a list")
        for item in items:
            _check_key(item)
        return kind(items)

    return make


def _ordered(items: Any = ()) -> collections.OrderedDict:
    if not isinstance(items, (list, tuple)) or not all(isinstance(i, (list, tuple)) and len(i) == 2 for i in items):
        raise LoadError("an OrderedDict is made of pairs")
    for key, _ in items:
        _check_key(key)
    return collections.OrderedDict(items)


def _sequence(kind: type) -> Callable:
    def make(items: Any = ()) -> Any:
        if not isinstance(items, (list, tuple, bytes)):
            raise LoadError(f"a {kind.__name__} is made of a sequence")
        return kind(items)

    return make


def _of_ints(kind: type) -> Callable:
    def make(*args: Any) -> Any:
        if not all(a is None or type(a) is int for a in args):
            raise LoadError(f"a {kind.__name__} is made of integers")
        return kind(*args)

    return make


def _complex(*parts: Any) -> complex:
    if not all(isinstance(p, (int, float)) for p in parts):
        raise LoadError("a complex number is made of numbers")
    return complex(*parts)


_ADMITTED: dict[tuple[str, str], Any] = {
    ("numpy", "ndarray"): ArrayRecord,
    ("numpy", "dtype"): DTypeRecord,
    ("collections", "OrderedDict"): _ordered,
    ("_codecs", "encode"): _encode,
    **{("ml_dtypes", name): getattr(ml_dtypes, name) for name in _EXTENDED},
}
for _module in ("numpy.core.multiarray", "numpy._core.multiarray"):
    _ADMITTED[_module, "_reconstruct"] = _new_array
    _ADMITTED[_module, "scalar"] = _scalar
for _module in ("builtins", "__builtin__"):
    _ADMITTED.update(
        {
            (_module, "tuple"): _sequence(tuple),
            (_module, "list"): _sequence(list),
            (_module, "bytearray"): _sequence(bytearray),
            (_module, "bytes"): _sequence(bytes),
            (_module, "set"): _hashable(set),
            (_module, "frozenset"): _hashable(frozenset),
            (_module, "complex"): _complex,
            (_module, "slice"): _of_ints(slice),
            (_module, "range"): _of_ints(range),
            (_module, "xrange"): _of_ints(range),
        }
    )
_CALLABLE = (
    {id(f) for f in _ADMITTED.values()} - {id(ArrayRecord)} - {id(getattr(ml_dtypes, name)) for name in _EXTENDED}
)


def _check_key(key: Any, depth: int = 0) -> None:
    """Only flat things may be hashed: the hash of a very deep tuple exhausts the C stack."""
    if isinstance(key, (str, bytes, int, float, complex, type(None), np.generic)):
        return
    if type(key) in (tuple, frozenset) and depth < _KEY_DEPTH:
        for part in key:
            _check_key(part, depth + 1)
        return
    raise LoadError(f"a {type(key).__name__} cannot be a key here")


class _Bounded:
    """The file, with an error instead of a read past its end (and no memory for a length that is not there)."""

    def __init__(self, file: BinaryIO):
        self.file = file
        here = file.tell()
        self.left = file.seek(0, 2) - here
        file.seek(here)

    def _take(self, n: int) -> None:
        if n > self.left:
            raise LoadError("the file is truncated")
        self.left -= n

    def read(self, n: int) -> bytes:
        self._take(n)
        return self.file.read(n)

    def readinto(self, buffer: Any) -> int:
        self._take(len(buffer))
        return self.file.readinto(buffer)  # type: ignore[attr-defined]

    def readline(self) -> bytes:
        line = self.file.readline(1 << 20)
        self._take(len(line))
        return line


class _Unpickler(pickle._Unpickler):  # type: ignore[name-defined]  # the one in Python: its steps can be replaced
    dispatch = dict(pickle._Unpickler.dispatch)  # type: ignore[attr-defined]

    def find_class(self, module: str, name: str) -> Any:
        try:
            return _ADMITTED[module, name]
        except (KeyError, TypeError):
            raise LoadError(
                f"it asks for `{module}.{name}`, which a file of tensors does not need; refused (a file like "
                "this may be an attack, or hold objects that only the program that wrote it can read)"
            ) from None

    def load_reduce(self) -> None:
        args = self.stack.pop()
        function = self.stack[-1]
        if id(function) not in _CALLABLE or not isinstance(args, tuple):
            raise LoadError(f"it calls a {type(function).__name__}; refused")
        self.stack[-1] = function(*args)

    dispatch[pickle.REDUCE[0]] = load_reduce

    def load_build(self) -> None:
        state = self.stack.pop()
        record = self.stack[-1]
        if type(record) not in (ArrayRecord, DTypeRecord):
            raise LoadError(f"it sets the state of a {type(record).__name__}; refused")
        record.build(state)

    dispatch[pickle.BUILD[0]] = load_build

    def load_setitem(self) -> None:
        value, key = self.stack.pop(), self.stack.pop()
        self._target(dict)[_checked(key)] = value

    dispatch[pickle.SETITEM[0]] = load_setitem

    def load_setitems(self) -> None:
        items = self.pop_mark()
        target = self._target(dict)
        for i in range(0, len(items), 2):
            target[_checked(items[i])] = items[i + 1]

    dispatch[pickle.SETITEMS[0]] = load_setitems

    def load_dict(self) -> None:
        items = self.pop_mark()
        self.append({_checked(items[i]): items[i + 1] for i in range(0, len(items), 2)})

    dispatch[pickle.DICT[0]] = load_dict

    def load_append(self) -> None:
        value = self.stack.pop()
        self._target(list).append(value)

    dispatch[pickle.APPEND[0]] = load_append

    def load_appends(self) -> None:
        items = self.pop_mark()
        self._target(list).extend(items)

    dispatch[pickle.APPENDS[0]] = load_appends

    def load_additems(self) -> None:
        items = self.pop_mark()
        self._target(set).update(map(_checked, items))

    dispatch[pickle.ADDITEMS[0]] = load_additems

    def load_frozenset(self) -> None:
        items = self.pop_mark()  # before self.append is looked up: it changes the stack
        self.append(frozenset(map(_checked, items)))

    dispatch[pickle.FROZENSET[0]] = load_frozenset

    def load_bytearray8(self) -> None:  # read first, so that no memory is taken for what is not there
        self.append(bytearray(self.read(int.from_bytes(self.read(8), "little"))))

    dispatch[pickle.BYTEARRAY8[0]] = load_bytearray8

    def _target(self, kind: type) -> Any:
        target = self.stack[-1]
        if not isinstance(target, kind):
            raise LoadError(f"it treats a {type(target).__name__} as a {kind.__name__}")
        return target

    def refuse(self) -> None:
        raise LoadError("it uses a step that a file of tensors does not need; refused")

    for _opcode in (
        pickle.INST,
        pickle.OBJ,
        pickle.NEWOBJ,
        pickle.NEWOBJ_EX,
        pickle.PERSID,
        pickle.BINPERSID,
        pickle.EXT1,
        pickle.EXT2,
        pickle.EXT4,
        pickle.NEXT_BUFFER,
        pickle.READONLY_BUFFER,
    ):
        dispatch[_opcode[0]] = refuse


def _checked(key: Any) -> Any:
    _check_key(key)
    return key


def restricted_load(file: BinaryIO) -> Any:
    """The object in a pickle file, where arrays are `ArrayRecord` and dtypes `DTypeRecord`.

    Raises LoadError for anything but a complete pickle of containers, numbers, strings and arrays.
    """
    try:
        return _Unpickler(_Bounded(file), encoding="latin1").load()
    except LoadError:
        raise
    except (MemoryError, RecursionError):
        raise LoadError("it is nested too deeply or too large") from None
    except Exception as e:  # every kind that a damaged program for the pickle machine can end in
        raise LoadError(f"it is no complete pickle ({type(e).__name__}: {str(e)[:100]})") from None
