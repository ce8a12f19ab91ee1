"""The promotion rules against tables recorded from the official package (CPU build 3.3.1, `x + y` and `x ** y`)."""

import itertools

import jax
import numpy as np
import pytest

import paddle
from paddle.engine.dtype import to_dtype
from paddle.engine.promotion import result_type

NAMES = [
    "bool",
    "uint8",
    "int8",
    "int16",
    "int32",
    "int64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "complex64",
    "complex128",
]
LETTERS = dict(zip("buiswlhgfdcz", NAMES))

# Rows: type of x, columns: type of y, in the order of NAMES; "." is a TypeError. v: with dimensions, 0: without.
# The official CPU build lacks the float16 kernels; that row and column follow bfloat16.
TABLES = {
    "vv": """b.........cz .u........cz ..i.......cz ...s......cz ....w.....cz .....l....cz
             ......hffdcz ......fgfdcz ......fffdcz ......ddddzz ccccccccczcz zzzzzzzzzzzz""",
    "v0": """buiswlhgfdcz uuuuuuhgfdcz iiiiiihgfdcz sssssshgfdcz wwwwwwhgfdcz llllllhgfdcz
             hhhhhhhhhhcz ggggggggggcz ffffffffffcz ddddddddddzz ccccccccczcc zzzzzzzzzzzz""",
    "0v": """buiswlhgfdcz uuiswlhgfdcz iuiswlhgfdcz suiswlhgfdcz wuiswlhgfdcz luiswlhgfdcz
             hhhhhhhgfdcz gggggghgfdcz ffffffhgfdcz ddddddhgfdzz ccccccccczcz zzzzzzzzzzcz""",
    "00": """buiswlhgfdcz uusswlhgfdcz isiswlhgfdcz sssswlhgfdcz wwwwwlhgfdcz llllllhgfdcz
             hhhhhhhffdcz ggggggfgfdcz fffffffffdcz ddddddddddzz ccccccccczcz zzzzzzzzzzzz""",
}
NUMBERS = {True: "buiswlhgfdcz", 2: "luiswlhgfdcz", 2.5: "ffffffhgfdcz", 1j: "ccccccccczcz"}


def spec(name, letter):
    return jax.ShapeDtypeStruct((2,) if letter == "v" else (), to_dtype(name).numpy)


@pytest.mark.parametrize("shapes", TABLES)
def test_tensors(shapes):
    for x, row in zip(NAMES, TABLES[shapes].split()):
        for y, letter in zip(NAMES, row):
            operands = spec(x, shapes[0]), spec(y, shapes[1])
            if letter == ".":
                with pytest.raises(TypeError, match=f"add: tensors of types {x} and {y} do not promote"):
                    result_type("add", *operands)
            else:
                assert result_type("add", *operands).name == LETTERS[letter], (x, y)


def number_spec(number):
    kind = {bool: "bool", int: "int64", float: "float64", complex: "complex128"}[type(number)]
    return jax.ShapeDtypeStruct((), kind, weak_type=kind != "bool")


@pytest.mark.parametrize("number", NUMBERS)
def test_numbers(number):
    for (name, letter), shape in itertools.product(zip(NAMES, NUMBERS[number]), "v0"):
        want = LETTERS[letter]
        assert result_type("add", spec(name, shape), number_spec(number)).name == want, name
        assert result_type("add", number_spec(number), spec(name, shape)).name == want, name


def test_operators_use_the_rules():
    """The way of a number through dispatch: what arrives in the body has the marks that the rules look at."""
    i, f, b = paddle.to_tensor([1, 2]), paddle.to_tensor([1.0, 2.0]), paddle.to_tensor([True, False])
    assert (i + True).dtype == paddle.int64 and (b + True).dtype == paddle.bool and (b + 2).dtype == paddle.int64
    assert (i * 2.5).dtype == paddle.float32 and (f * 2).dtype == paddle.float32 and (f + 1j).dtype == paddle.complex64
    assert (f.astype("float64") + 1j).dtype == paddle.complex128 and (1j + i).dtype == paddle.complex64
    assert (i + paddle.to_tensor(1.5, dtype="float64")).dtype == paddle.float64
    assert (f == paddle.to_tensor(1)).tolist() == [True, False]
    with pytest.raises(TypeError, match="equal: tensors of types float32 and int64"):
        f == i


def test_numpy_numbers_count_as_python_numbers():
    f = paddle.to_tensor([1.0, 2.0])
    for number in (np.float64(1.5), np.float32(1.5)):
        assert (f + number).dtype == paddle.float32 and (f + number).tolist() == [2.5, 3.5]
    assert (f * np.int64(2)).dtype == paddle.float32


def test_numpy_arrays_keep_their_type():
    f = paddle.to_tensor([1.0, 2.0])
    assert (f + np.array([10.0, 20.0], "float32")).tolist() == [11.0, 22.0]
    assert (f + np.array([10.0, 20.0])).dtype == paddle.float64
    assert isinstance(np.array([10.0, 20.0], "float32") + f, paddle.Tensor)


def test_integers_wrap_and_huge_ones_are_floats():
    assert (paddle.to_tensor([250], dtype="uint8") + 300).tolist() == [38]
    assert (paddle.to_tensor([1.0]) + 2**70).tolist() == [2.0**70]
    assert (paddle.to_tensor([1.0]) - 10**30).dtype == paddle.float32


@pytest.mark.parametrize("other", ["a", None, [1.0, 2.0], object(), {}])
def test_other_operands_are_type_errors(other):
    x = paddle.to_tensor([1.0, 2.0])
    for function in (
        lambda: x + other,
        lambda: other - x,
        lambda: x * other,
        lambda: x < other,
        lambda: x**other,
        lambda: x // other,
        lambda: x % other,
        lambda: x & other,
    ):
        with pytest.raises(TypeError):
            function()
    assert (x == other) is False and (x != other) is True
