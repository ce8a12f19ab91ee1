"""Files that want to run code, exhaust memory or the stack, or are damaged: a clear error, and nothing happens."""

import builtins
import collections
import io
import os
import pickle
import struct
import sys

import numpy as np
import pytest

import paddle

LIMIT = 64 << 20


def load(data):
    return paddle.load(io.BytesIO(data))


def refused(data, words=None):
    with pytest.raises(pickle.UnpicklingError, match=words) as caught:
        load(data)
    assert isinstance(caught.value, ValueError)


class Calls:
    """Pickles as a call of a function."""

    def __init__(self, function, *args):
        self.reduced = function, args

    def __reduce__(self):
        return self.reduced


@pytest.mark.parametrize(
    "function, args",
    [
        (os.system, ("touch {}",)),
        (builtins.eval, ("open('{}', 'w')",)),
        (builtins.exec, ("open('{}', 'w')",)),
        (builtins.open, ("{}", "w")),
        (builtins.getattr, (os, "system")),
        (builtins.__import__, ("os",)),
        (np.load, ("{}",)),
        (np.fromfile, ("{}",)),
        (np.memmap, ("{}",)),
        (os.mkdir, ("{}",)),
        (type, ("X", (), {})),
        (pickle.loads, (b"N.",)),
        (collections.namedtuple, ("x", "a")),
        (sys.exit, (3,)),
    ],
)
@pytest.mark.parametrize("protocol", [0, 2, 4])
def test_functions_are_not_called(function, args, protocol, tmp_path):
    target = tmp_path / "touched"
    args = tuple(a.format(target) if isinstance(a, str) else a.__name__ if a is os else a for a in args)
    refused(pickle.dumps({"w": Calls(function, *args)}, protocol), "refused")
    assert not target.exists()


@pytest.mark.parametrize(
    "data",
    [
        b"cos\nsystem\n(S'true'\ntR.",
        b"(S'true'\nios\nsystem\n.",  # INST
        b"(cos\nsystem\nS'true'\no.",  # OBJ
        b"\x80\x02cbuiltins\nint\n)\x81.",  # NEWOBJ
        b"\x80\x02cnumpy\nndarray\nK\x05\x85R.",  # an array by its constructor
        b"\x80\x02cnumpy.core.multiarray\n_reconstruct\n}b.",  # the state of a function
        b"\x80\x02]}X\x07\x00\x00\x00__class__K\x01sb.",  # the attributes of a list
        b"\x80\x04\x8c\x08builtins\x8c\x0eeval.__class__\x93.",
        b"\x80\x04K\x01K\x02\x93.",  # names that are no strings
        b"\x80\x02}(]K\x01u.",  # an unhashable key
        b"\x80\x02Q.",
        b"\x80\x02P0\n.",
        b"\x80\x02\x82\x01.",
        b"\x80\x05\x97.",
        b"cbuiltins\ntuple\ncbuiltins\nset\n\x85R.",
        b"\x80\x02cbuiltins\nbytearray\nK\x05\x85R.",  # memory by a number
        b"\x80\x02ccollections\nOrderedDict\n]K\x01a\x85R.",
        b"\x80\x02c_codecs\nencode\nX\x01\x00\x00\x00aX\x04\x00\x00\x00zlib\x86R.",
        b".",
        b"",
        b"N",
        b"\x80\x09N.",
        b"0.",
        b"(.",
        b"t.",
        b"\x80\x04h\x05.",
        b"\x80\x02(K\x01u.",
        b"\x80\x02Ns.",
        b"\x80\x02NK\x01a.",
        b"I" + b"1" * 100000 + b"\n.",
    ],
)
def test_damaged_and_tricky_programs(data):
    refused(data)


def array_pickle(shape, code="f4", raw=b"", byteorder="<"):
    """The pickle of an array with any parts."""

    class Reduced:
        def __reduce__(self):
            return np._core.multiarray._reconstruct, (np.ndarray, (0,), b"b"), (1, shape, DType(), False, raw)

    class DType:
        def __reduce__(self):
            return np.dtype, (code, False, True), (3, byteorder, None, None, None, -1, -1, 0)

    return pickle.dumps(Reduced())


def test_arrays_that_lie():
    assert load(array_pickle((2,), raw=b"\0" * 8)).tolist() == [0.0, 0.0]
    for shape in ((1 << 40,), (3,), (-1,), (2, -1), ("2",), (1 << 62, 1 << 62), (True,), [2], (1,) * 40 + (2,)):
        refused(array_pickle(shape, raw=b"\0" * 8))
    for code in ("O", "V8", "i4,f4", "(2,)f4", "M8[s]", "O,f4", [("a", "O")], "T", 3):
        refused(array_pickle((1,), code=code, raw=b"\0" * 8))
    refused(array_pickle((1,), raw=[print]), "objects")
    refused(pickle.dumps(np.array([print, None], dtype=object)))
    refused(pickle.dumps(np.zeros(2, [("a", "f4"), ("b", "i4")])))
    refused(pickle.dumps(np.ma.masked_array([1, 2])))


def test_lengths_that_are_not_there_cost_no_memory():
    huge = struct.pack("<Q", 1 << 60)
    for data in (
        b"\x80\x04\x8e" + huge,
        b"\x80\x04\x8d" + huge,
        b"\x80\x05\x96" + huge,
        b"\x80\x04\x95" + huge,
        b"\x80\x02B\xff\xff\xff\x7f",
        b"\x80\x02X\xff\xff\xff\x7f",
        b"\x80\x02\x8b\xff\xff\xff\x7f",
    ):
        refused(data + b"abc", "truncated")
    assert load(b"\x80\x02Nr\xff\xff\xff\x7f.") is None  # a memo of two thousand million places


@pytest.mark.parametrize("depth", [1000, 50000])
def test_nesting_bombs(depth):
    refused(b"\x80\x02" + b"]" * depth + b"a" * (depth - 1) + b".", "nested")
    refused(b"\x80\x02N" + b"\x85" * depth + b".", "nested")
    refused(b"\x80\x02}N" + b"\x85" * depth + b"Ns.", "key")  # hashing it would exhaust the stack of the interpreter
    refused(b"\x80\x04\x8f(N" + b"\x85" * depth + b"\x90.", "key")
    refused(b"\x80\x04(N" + b"\x85" * depth + b"\x91.", "key")


def test_an_object_that_contains_itself():
    got = load(b"\x80\x02]q\x00h\x00a.")
    assert got[0] is got
    got = load(b"\x80\x02]q\x00h\x00\x85a.")  # through a tuple
    assert got[0][0] is got


def test_few_bytes_that_stand_for_many_objects():
    data = b"\x80\x02]K\x01aq\x00"
    for i in range(60):  # each list holds the one before twice
        data += b"](h" + bytes([i]) + b"h" + bytes([i]) + b"eq" + bytes([i + 1])
    got = load(data + b".")
    assert got[0] is got[1]


def test_every_truncation_and_many_corruptions_of_a_real_file():
    buffer = io.BytesIO()
    paddle.save({"w": paddle.ones([2, 2]), "l": [1, "a", (None, 2.5)], "n": np.arange(3), "s": {1}}, buffer)
    data = buffer.getvalue()
    for n in range(len(data)):
        refused(data[:n])
    random = np.random.RandomState(0)
    for _ in range(1500):
        broken = bytearray(data)
        for position in random.randint(0, len(data), random.randint(1, 4)):
            broken[position] = random.randint(256)
        try:
            load(bytes(broken))
        except (pickle.UnpicklingError, ValueError):
            pass  # anything else is a failure
