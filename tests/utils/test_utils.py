"""Helpers: nested structures, optional imports, deprecation, DLPack devices."""

import collections

import numpy as np
import pytest

import paddle
import paddle.utils as utils

Point = collections.namedtuple("Point", "x y")


def test_structures():
    nested = {"b": [1, (2, 3)], "a": Point(4, [5])}
    assert utils.flatten(nested) == [4, 5, 1, 2, 3]
    assert utils.pack_sequence_as(nested, [v * 10 for v in utils.flatten(nested)]) == {
        "b": [10, (20, 30)],
        "a": Point(40, [50]),
    }
    assert utils.map_structure(lambda a, b: a + b, nested, nested) == {"b": [2, (4, 6)], "a": Point(8, [10])}
    assert utils.is_sequence([1]) and utils.is_sequence({}) and not utils.is_sequence("text")
    assert utils.to_sequence(3) == [3] and utils.to_sequence((1, 2)) == [1, 2]
    with pytest.raises(ValueError, match="5 leaves, 1 were given"):
        utils.pack_sequence_as(nested, [1])


def test_try_import():
    assert utils.try_import("json").loads("1") == 1
    with pytest.raises(ImportError, match="pip install surely_not_there"):
        utils.try_import("surely_not_there.part")
    with pytest.raises(ImportError, match="mine"):
        utils.try_import("surely_not_there", "mine")


def test_require_version():
    utils.require_version("2.0.0")
    utils.require_version("2.0", "99.0")
    with pytest.raises(Exception, match="99.0.0 or later is required"):
        utils.require_version("99.0.0")
    with pytest.raises(Exception, match="0.1 to 0.2"):
        utils.require_version("0.1", "0.2")
    with pytest.raises(TypeError, match="min_version"):
        utils.require_version(2)
    with pytest.raises(ValueError, match="'two'"):
        utils.require_version("two")


def test_deprecated():
    @utils.deprecated(update_to="paddle.new", since="3.0", reason="slow")
    def old(value):
        """Documentation."""
        return value

    with pytest.warns(DeprecationWarning, match=r"old is deprecated since 3.0, use paddle.new instead \(slow\)"):
        assert old(3) == 3
    assert old.__doc__ == "Documentation." and old.__name__ == "old"

    @utils.deprecated(level=2)
    def gone():
        return 1

    with pytest.raises(RuntimeError, match="gone is deprecated"):
        gone()


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "uint8", "bool", "complex64", "float16"])
def test_dlpack_round_trip(dtype):
    x = paddle.to_tensor([0, 1, 1]).astype(dtype).reshape([3, 1])
    y = utils.dlpack.from_dlpack(x)
    assert y.dtype is x.dtype and y.shape == [3, 1] and (x == y).all()


def test_dlpack_copy_and_device():
    source = np.arange(3.0)
    x = utils.dlpack.from_dlpack(source, device="cpu", copy=True)
    source[0] = 9
    assert x.tolist() == [0, 1, 2]


def test_count_compiles():
    x = paddle.ones([7, 3])
    with utils.count_compiles() as count:
        (x * 1.7 + 0.3).reshape([3, 7])
    assert count.compiles == len(count.names)
