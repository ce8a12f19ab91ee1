"""Damaged and hostile model files: a clear ValueError (or a model that was not hurt), never a crash, a hang or huge memory.

As a script it tries more: ``python tests/interop/test_damaged_files.py 10000``.
"""

import io
import random
import struct
import sys
import tarfile
import time
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from paddle.interop import params, programdesc
from paddle.interop.legacy_model import LegacyModel, read_legacy_folder

FIXTURES = Path(__file__).parent / "fixtures"
ALLOWED = (ValueError, NotImplementedError)


def fixture(name):
    with tarfile.open(FIXTURES / "networks.tar.xz") as archive:
        names = [f"{name}.{e}" for e in ("pdmodel", "pdiparams")]
        return tuple(archive.extractfile(n).read() if n in archive.getnames() else b"" for n in names)


def mutated(data, rng):
    """Bytes changed, taken out, put in, doubled or cut off; length fields are hit often because there are many."""
    data = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 5))):
        at = rng.randrange(len(data))
        kind = rng.randrange(6)
        if kind == 0:
            data[at] = rng.randrange(256)
        elif kind == 1:
            data[at] ^= 1 << rng.randrange(8)
        elif kind == 2:
            del data[at : at + rng.randrange(1, 9)]
        elif kind == 3:
            data[at:at] = bytes(rng.choice((0, 0x7F, 0x80, 0xFF)) for _ in range(rng.randrange(1, 12)))
        elif kind == 4:
            data[at:at] = data[at : at + rng.randrange(1, 200)]
        else:
            del data[max(at, 1) :]
    return bytes(data)


def attack(model, weights, count, seed, translate_every):
    """Read damaged versions; returns how many raised and how many were read."""
    rng = random.Random(seed)
    raised = read = 0
    for k in range(count):
        begin = time.perf_counter()
        try:
            if k % 4 == 3:
                names = [v.name for v in programdesc.parse(model).persistables()]
                params.read_combined(mutated(weights, rng), names)
            else:
                damaged = mutated(model, rng)
                if k % translate_every == 0:
                    LegacyModel(damaged, weights).graph()
                else:
                    LegacyModel(damaged, weights)
            read += 1
        except ALLOWED as e:
            assert str(e)
            raised += 1
        assert time.perf_counter() - begin < 60
    return raised, read


def test_damaged_files_give_errors():
    raised, read = attack(*fixture("net_text"), 2000, 1, 10**9)
    assert raised > 500 and read > 10


def test_damaged_programs_give_errors_when_translated():
    model, weights = fixture("cond_true")
    rng = random.Random(2)
    raised = 0
    for _ in range(100):
        try:
            LegacyModel(mutated(model, rng), weights).graph()
        except ALLOWED as e:
            assert str(e)
            raised += 1
    assert raised > 20


def test_every_truncation_gives_an_error():
    model, weights = fixture("net_mobile")
    names = [v.name for v in programdesc.parse(model).persistables()]
    for n in range(0, len(weights), 97):
        with pytest.raises(ValueError):
            params.read_combined(weights[:n], names)
    for n in range(0, len(model) - 1, 53):
        try:
            program = programdesc.parse(model[:n])
        except ValueError:
            continue
        assert sum(len(b.operators) for b in program.blocks) <= 60  # cut between two fields of the file


def varint(value):
    return programdesc._write_varint(value)


def test_hostile_lengths_take_no_memory():
    tracemalloc.start()
    for data in (
        b"\x0a" + varint(2**62),  # a block of 2**62 bytes
        b"\x0a" + b"\xff" * 40,  # a length without end
        b"\x00\x01",  # field number 0
        b"\x0b",  # a group
        b"\x0a\x00" * 100_000,  # blocks without numbers
        b"",
    ):
        with pytest.raises(ValueError):
            programdesc.parse(data)
    desc = b"\x08\x05" + b"".join(b"\x10" + varint(2**40) for _ in range(4))
    head = struct.pack("<IQIi", 0, 0, 0, len(desc)) + desc
    for data in (
        head,  # 2**160 elements
        struct.pack("<IQ", 0, 2**60),  # levels
        struct.pack("<IQQ", 0, 1, 2**60),  # bytes of a level
        struct.pack("<IQIi", 0, 0, 0, -5),  # a description of negative size
        struct.pack("<IQIi", 7, 0, 0, 0),  # a version from the future
        struct.pack("<IQIi", 0, 0, 0, 2) + b"\x08\x63",  # an unknown element type
        struct.pack("<IQIi", 0, 0, 0, 13) + b"\x08\x05\x10" + varint(2**64 - 1),  # a length of -1
    ):
        with pytest.raises(ValueError):
            params.read_combined(data, ["w"])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20_000_000


def field(number, content):
    return varint(number << 3 | 2) + varint(len(content)) + content


def program(*operators, blocks=1):
    """A ProgramDesc of operators (type, inputs, outputs, attributes as bytes), and blocks that hold the same."""
    parts = []
    for kind, inputs, outputs, attributes in operators:
        slots = [
            field(1, field(1, s.encode()) + b"".join(field(2, n.encode()) for n in ns)) for s, ns in inputs.items()
        ]
        slots += [
            field(2, field(1, s.encode()) + b"".join(field(2, n.encode()) for n in ns)) for s, ns in outputs.items()
        ]
        parts.append(field(4, field(3, kind.encode()) + b"".join(slots) + b"".join(field(4, a) for a in attributes)))
    found = b""
    for k in range(blocks):
        found += field(1, b"\x08" + varint(k) + b"\x10" + (varint(2**64 - 1) if k == 0 else b"\x00") + b"".join(parts))
    return found


def block_attribute(index):
    return field(1, b"sub_block") + b"\x10\x08" + b"\x60" + varint(index)


def test_blocks_inside_themselves_end():
    one = (
        "fill_constant",
        {},
        {"Out": ["c"]},
        [field(1, b"dtype") + b"\x10\x00\x18\x00", field(1, b"str_value") + b"\x10\x02\x2a\x011"],
    )
    scalar = field(1, b"is_scalar_condition") + b"\x10\x06\x50\x01"
    again = ("conditional_block", {"Cond": ["c"]}, {"Out": ["y"]}, [block_attribute(0), scalar])
    with pytest.raises(ValueError, match="nests more than"):
        LegacyModel(program(one, again, FETCH), None).graph()
    with pytest.raises(ValueError, match="no block 9"):
        LegacyModel(program(one, (*again[:3], [block_attribute(9), scalar]), FETCH), None).graph()


FETCH = ("fetch", {"X": ["y"]}, {}, [])


def test_errors_name_the_operator_and_what_is_missing():
    wiggle = ("wiggle", {}, {"Out": ["x"]}, [])
    with pytest.raises(NotImplementedError, match="frobnicate, wiggle"):
        LegacyModel(program(wiggle, ("frobnicate", {"X": ["x"]}, {"Out": ["y"]}, []), FETCH), None).graph()
    with pytest.raises(ValueError, match="relu: the variable 'x' is read before") as caught:
        LegacyModel(program(("relu", {"X": ["x"]}, {"Out": ["y"]}, []), FETCH), None).graph()
    assert "gives 'y'" in "".join(caught.value.__notes__)
    with pytest.raises(ValueError, match="relu: the input 'X' is missing"):
        LegacyModel(program(("relu", {}, {"Out": ["y"]}, []), FETCH), None).graph()
    with pytest.raises(ValueError, match="fetches 'y', which no operator defines"):
        LegacyModel(program(("fetch", {"X": ["y"]}, {}, [])), None).graph()


def test_operators_that_nothing_needs_are_left_out():
    constant = ("fill_constant", {}, {"Out": ["y"]}, [field(1, b"dtype") + b"\x10\x00\x18\x05"])
    model = LegacyModel(program(("wiggle", {}, {"Out": ["x"]}, []), constant, FETCH), None)
    assert model.unknown_operators() == [] and [o.type for o in model.operators()] == ["fill_constant"]
    model.graph()


def test_a_parameter_name_cannot_leave_its_folder(tmp_path):
    (tmp_path / "secret").write_bytes(b"")
    folder = tmp_path / "model"
    folder.mkdir()
    with pytest.raises(ValueError, match="leads out of the folder"):
        params.read_folder(folder, ["../secret"])
    with pytest.raises(ValueError, match="lacks the file of the parameter 'w'"):
        params.read_folder(folder, ["w"])
    with pytest.raises(ValueError, match="no model file"):
        read_legacy_folder(folder)


def test_parameters_of_another_model_are_refused():
    model, weights = fixture("net_text")
    _, other = fixture("net_mobile")
    with pytest.raises(ValueError):
        LegacyModel(model, other)
    described = programdesc.parse(model).persistables()
    arrays = params.read_combined(weights, [v.name for v in described])
    name = next(n for n in sorted(arrays) if arrays[n].size > 1)
    with pytest.raises(ValueError, match="do not belong together"):
        LegacyModel(model, {**arrays, name: arrays[name].reshape(-1, 1, 1, 1, 1)})
    with pytest.raises(ValueError, match="are missing"):
        LegacyModel(model, {n: a for n, a in arrays.items() if n != name})


def test_tensors_survive_writing_and_reading():
    import ml_dtypes

    rng = np.random.default_rng(0)
    kinds = ["float32", "float64", "float16", "int8", "uint8", "int16", "int32", "int64", "bool", "complex64"]
    arrays = {k: (rng.standard_normal((2, 3)) * 3).astype(k) for k in kinds}
    arrays |= {
        "bf16": np.arange(4).astype(ml_dtypes.bfloat16),
        "empty": np.zeros((0, 3), "float32"),
        "one": np.float32(2.5),
    }
    found = params.read_combined(params.write_combined(arrays), sorted(arrays))
    for name, array in arrays.items():
        assert found[name].dtype == array.dtype and found[name].shape == array.shape
        np.testing.assert_array_equal(found[name], array)
    with pytest.raises(TypeError, match="float4_e2m1fn"):
        params.write_tensor(io.BytesIO(), np.zeros(2, ml_dtypes.float4_e2m1fn))


if __name__ == "__main__":
    wanted = int(sys.argv[1])
    for network in ("net_text", "net_encoder", "layer_if_true"):
        print(network, attack(*fixture(network), wanted // 3, 3, 200))
