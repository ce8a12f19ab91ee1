"""Views, layouts, repetition, padding."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import paddle

from _check import check_grad, compare

F = paddle.nn.functional
rng = np.random.RandomState(0)


def arange(*shape, dtype="float32"):
    return paddle.arange(int(np.prod(shape))).reshape(list(shape)).astype(dtype)


VIEWS = {
    "reshape": (lambda x: x.reshape([4, 3]), [3, 1]),
    "flatten": (lambda x: x.flatten(), [1]),
    "transpose": (lambda x: x.transpose([1, 0]), [1, 4]),
    "T": (lambda x: x.T, [1, 4]),
    "mT": (lambda x: x.mT, [1, 4]),
    "t": (lambda x: x.t(), [1, 4]),
    "squeeze": (lambda x: x.unsqueeze(0).squeeze(0), [4, 1]),
    "unsqueeze": (lambda x: x.unsqueeze([0, -1]), [12, 4, 1, 1]),
    "slice": (lambda x: paddle.slice(x, [0], [1], [3]), [4, 1]),
    "strided_slice": (lambda x: paddle.strided_slice(x, [0], [0], [3], [2]), [8, 1]),
    "unbind": (lambda x: x.unbind(1)[2], [4]),
    "diagonal": (lambda x: x.diagonal(1), [5]),
    "unfold": (lambda x: x.unfold(1, 3, 3), [4, 3, 1]),
    "as_strided": (lambda x: x.as_strided([2, 2], [4, 2]), [4, 2]),
    "view": (lambda x: x.view([12]), [1]),
    "moveaxis": (lambda x: x.moveaxis(0, 1), [1, 4]),
    "swapaxes": (lambda x: x.swapaxes(1, 0), [1, 4]),
    "unflatten": (lambda x: x.unflatten(1, [2, 2]), [4, 2, 1]),
    "atleast_3d": (lambda x: paddle.atleast_3d(x), [4, 1, 1]),
    "ravel": (lambda x: x.ravel(), [1]),
    "narrow": (lambda x: x.narrow(1, 1, 2), [4, 1]),
    "as_complex": (lambda x: x.reshape([6, 2]).as_complex(), [1]),
    "view_dtype": (lambda x: x.view("int32"), [4, 1]),
}
COPIES = {
    "expand": lambda x: x.expand([2, 3, 4]),
    "split": lambda x: x.split(3)[0],
    "chunk": lambda x: x.chunk(3)[0],
    "unstack": lambda x: x.unstack()[0],
    "crop": lambda x: paddle.crop(x, [2, 2]),
    "clone": lambda x: x.clone(),
    "assign": lambda x: paddle.assign(x),
    "conj": lambda x: x.conj(),
    "rot90": lambda x: x.rot90(2),
    "flip": lambda x: x.flip(0),
    "tile": lambda x: x.tile([1, 1]),
    "reshape of a transpose": lambda x: x.t().reshape([12]),
}


@pytest.mark.parametrize("name", VIEWS)
def test_views_share_memory_both_ways(name):
    view, strides = VIEWS[name]
    x = arange(3, 4) + 1
    y = view(x)
    assert list(y.strides) == strides
    before = x.numpy()
    y.fill_(9)
    changed = x.numpy() != before
    assert changed.any()
    assert (view(x).numpy() == y.numpy()).all(), "the write arrived where the view reads"
    if name not in (
        "reshape",
        "flatten",
        "transpose",
        "T",
        "mT",
        "t",
        "squeeze",
        "unsqueeze",
        "view",
        "moveaxis",
        "swapaxes",
        "unflatten",
        "atleast_3d",
        "ravel",
        "as_complex",
        "view_dtype",
        "unfold",
    ):
        assert not changed.all(), "elements outside of the view stay"
    x.fill_(5.0)
    assert (y.numpy() == view(x).numpy()).all()
    assert not (y.numpy() == 9).any()


@pytest.mark.parametrize("name", COPIES)
def test_copies_do_not_share_memory(name):
    x = arange(3, 4)
    y = COPIES[name](x)
    old = y.numpy()
    x.fill_(77.0)
    assert (y.numpy() == old).all()
    y.fill_(5.0)
    assert (x.numpy() == 77).all()


def test_gradient_flows_through_a_write_into_a_view():
    x = paddle.to_tensor([[1.0, 2.0], [3.0, 4.0]], stop_gradient=False)
    y = x * 1
    y.reshape([4])[1:3] = paddle.to_tensor([10.0, 20.0])
    y.t()[0] *= 3
    (y * y).sum().backward()
    compare(y, [[3, 10], [60, 4]])
    compare(x.grad, [[18, 0], [0, 8]])


def test_complex_views():
    z = paddle.to_tensor([1 + 2j, 3 + 4j])
    z.real()[0] = 7.0
    z.imag()[1] = 8.0
    z.as_real()[0, 1] = 9.0
    compare(z, [7 + 9j, 3 + 8j])
    assert list(z.real().strides) == [2] and list(z.as_real().strides) == [2, 1]


@settings(max_examples=15, deadline=None, derandomize=True)
@given(
    st.lists(st.integers(1, 4), min_size=1, max_size=4).flatmap(
        lambda s: st.tuples(st.just(s), st.permutations(range(len(s))), st.permutations(s))
    )
)
def test_layout_agrees_with_numpy(case):
    """Values and strides of transpose then reshape; a reshape that NumPy cannot do without a copy is a copy."""
    shape, perm, new = case
    a = np.arange(int(np.prod(shape)), dtype="float32").reshape(shape)
    x = paddle.to_tensor(a)
    y, b = x.transpose(list(perm)), a.transpose(perm)
    assert [s for s, n in zip(y.strides, y.shape) if n > 1] == [s // 4 for s, n in zip(b.strides, b.shape) if n > 1]
    z = y.reshape(list(new))
    compare(z, b.reshape(new))
    shared = np.shares_memory(b.reshape(new), a)
    z.fill_(-1.0)
    assert bool((x == -1).any()) == shared


def test_reshape_rules():
    x = arange(2, 3, 4)
    assert (
        x.reshape([0, -1]).shape == [2, 12]
        and x.reshape(4, 6).shape == [4, 6]
        and x.reshape([0, 0, 2, 2]).shape == [2, 3, 2, 2]
    )
    assert x.reshape(paddle.to_tensor([6, 4])).shape == [6, 4] and x.reshape([paddle.to_tensor(12), -1]).shape == [
        12,
        2,
    ]
    empty = paddle.zeros([2, 0, 3])
    got = [empty.reshape(s).shape for s in ([0, 0, 3], [5, 0], [-1], [-1, 3], [0, -1, 3])]
    assert got == [[0, 0, 3], [5, 0], [0], [0, 3], [0, 2, 3]]
    assert paddle.zeros([0, 3]).reshape([-1, 0]).shape == [3, 0]
    for bad in ([4, 5], [-1, -1], [5, -1], [-2, 12], [2, 3, 4, 0], "abc", [1.5]):
        with pytest.raises((ValueError, TypeError)):
            x.reshape(bad)
    y = arange(6)
    assert y.reshape_([2, 3]) is y and y.shape == [2, 3]


def test_view_refuses_what_needs_a_copy():
    with pytest.raises(ValueError, match="copy"):
        arange(2, 3).t().view([6])
    assert arange(2, 3).t().view([3, 2, 1]).shape == [3, 2, 1]
    x = paddle.ones([2])
    assert x.view("bool").tolist() == [False, False, True, True] * 2
    assert x.view("float64").shape == [1] and paddle.ones([2, 2]).view("complex64").tolist() == [[1 + 1j], [1 + 1j]]
    compare(x.view("float16"), [0, 1.875, 0, 1.875])
    with pytest.raises(ValueError):
        paddle.ones([2, 3]).view("float64")


def test_squeeze_unsqueeze_flatten():
    x = paddle.zeros([1, 3, 1, 2])
    assert x.squeeze().shape == [3, 2] and x.squeeze([0, 1]).shape == [3, 1, 2] and x.squeeze(1).shape == x.shape
    y = paddle.zeros([2, 3])
    assert [y.unsqueeze(a).shape for a in ([2, 0, -1], [-1, 1], [0, 0], -3)] == [
        [1, 2, 3, 1, 1],
        [2, 1, 3, 1],
        [1, 1, 2, 3],
        [1, 2, 3],
    ]
    assert paddle.to_tensor(2.0).flatten().shape == [1] and paddle.zeros([2, 3, 4]).flatten(-2, -1).shape == [2, 12]
    for bad in (
        lambda: y.unsqueeze(4),
        lambda: y.unsqueeze(-4),
        lambda: y.squeeze(3),
        lambda: y.flatten(1, 0),
        lambda: y.flatten(0, 5),
        lambda: y.transpose([0, 0]),
        lambda: y.transpose([0, 2]),
        lambda: y.moveaxis(0, 3),
        lambda: y.moveaxis([0, 0], [0, 1]),
        lambda: paddle.zeros([2, 3, 4]).t(),
        lambda: paddle.zeros([3]).mT,
    ):
        with pytest.raises(ValueError):
            bad()
    assert y.transpose([0]).shape == [2, 3]


def test_expand_tile_repeat():
    x = arange(1, 3)
    assert (
        x.expand([2, -1]).shape == [2, 3]
        and x.expand([0, 3]).shape == [0, 3]
        and paddle.zeros([]).expand(2, 3).shape == [2, 3]
    )
    for bad in ([2, 4], [3], [-1, 2, 3]):
        with pytest.raises(ValueError):
            x.expand(bad)
    compare(arange(2, 3).tile([2, 1, 2]), np.tile(arange(2, 3).numpy(), [2, 1, 2]))
    assert arange(2, 3).tile([0, 1]).shape == [0, 3]
    with pytest.raises(ValueError):
        x.tile([-1, 1])
    compare(arange(2, 3).repeat_interleave(paddle.to_tensor([2, 0]), 0), [[0, 1, 2], [0, 1, 2]])
    for bad in (0, -1, paddle.to_tensor([1, 2, 3]), paddle.to_tensor([1, -1])):
        with pytest.raises(ValueError):
            arange(2, 3).repeat_interleave(bad, 0)
    with pytest.raises(ValueError):
        paddle.broadcast_tensors([paddle.ones([2]), paddle.ones([3])])


def test_order():
    a = rng.randn(2, 3, 4)
    x = paddle.to_tensor(a)
    compare(x.flip([0, -1]), np.flip(a, [0, -1]))
    compare(x.roll([1, -2], [0, 2]), np.roll(a, [1, -2], [0, 2]))
    compare(x.roll(5), np.roll(a, 5))
    for k in range(-1, 5):
        compare(paddle.rot90(x, k, [1, 2]), np.rot90(a, k, (1, 2)))
    for bad in (
        lambda: x.flip([0, 0]),
        lambda: x.flip(3),
        lambda: x.roll([1, 2], 0),
        lambda: x.roll(1, 3),
        lambda: x.rot90(1, [0]),
        lambda: x.rot90(1, [0, -3]),
        lambda: paddle.ones([2]).rot90(),
    ):
        with pytest.raises(ValueError):
            bad()
    assert paddle.zeros([0, 2]).roll(1).shape == [0, 2]


def test_roll_does_not_recompile():
    x = arange(7)
    x.roll(1)[0]
    with paddle.utils.count_compiles() as n:
        got = [x.roll(k)[0].item() for k in range(2, 6)]
    assert got == [5, 4, 3, 2]
    assert n.compiles == n.cache_hits == 0


def test_parts():
    x = arange(5)
    assert paddle.strided_slice(x, [0], [100], [-100], [-2]).tolist() == [4, 2, 0]
    assert paddle.slice(x, [0], [-10], [2]).tolist() == [0, 1] and paddle.slice(x, [0], [3], [1]).shape == [0]
    assert x.as_strided([2, 2], [1, 2], 4).tolist() == [[1, 3], [2, 4]]  # the offset counts bytes
    assert paddle.arange(6).reshape([2, 3])[1].as_strided([2], [1]).tolist() == [
        0,
        1,
    ]  # strides count in the shared memory
    assert arange(2, 3).t().as_strided([2, 2], [1, 2]).tolist() == [[0, 2], [1, 3]]
    for bad in (
        lambda: x.as_strided([3, 2], [2, 1]),
        lambda: x.as_strided([2], [-1]),
        lambda: x.as_strided([1], [1], 1),
        lambda: x.unfold(0, 6, 1),
        lambda: x.unfold(0, 2, 0),
        lambda: x.narrow(0, 4, 2),
        lambda: x.narrow(0, 0, -1),
        lambda: paddle.crop(x, [3], [3]),
        lambda: paddle.crop(x, [2], [-1]),
        lambda: paddle.slice(x, [1], [0], [1]),
        lambda: paddle.slice(x, [0], [0, 1], [1]),
        lambda: paddle.strided_slice(x, [0], [0], [1], [0]),
        lambda: x.unbind(1),
    ):
        with pytest.raises(ValueError):
            bad()
    assert [a.shape for a in paddle.atleast_2d(paddle.to_tensor(1.0), paddle.ones([3]))] == [[1, 1], [1, 3]]


def test_slices_do_not_recompile():
    x = arange(50)
    paddle.slice(x, [0], [0], [2])
    with paddle.utils.count_compiles() as n:
        for i in range(1, 40):
            paddle.slice(x, [0], [i], [i + 2])
    assert n.compiles == n.cache_hits == 0


@pytest.mark.parametrize("ndim, fmt", [(3, "NCL"), (3, "NLC"), (4, "NCHW"), (4, "NHWC"), (5, "NDHWC")])
@pytest.mark.parametrize("mode", ["constant", "reflect", "replicate", "circular"])
def test_pad_spatial(ndim, fmt, mode):
    a = rng.randn(*[2, 2, 3, 4, 3][:ndim]) if fmt[-1] != "C" else rng.randn(*[2, 4, 3, 3, 2][: ndim - 1], 2)
    pads = [1, 1, 0, 1, 1, 0][: 2 * (ndim - 2)]
    first = 1 if fmt[-1] == "C" else 2
    want = [(0, 0)] * ndim
    for axis, pair in zip(range(first + ndim - 3, first - 1, -1), zip(pads[::2], pads[1::2])):
        want[axis] = pair
    kind = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}[mode]
    compare(F.pad(paddle.to_tensor(a), pads, mode=mode, data_format=fmt), np.pad(a, want, mode=kind))


def test_pad_order_of_axes():
    b, q = paddle.ones([2, 3, 4]), paddle.ones([1, 2, 3, 4])
    assert F.pad(b, [1, 1, 0, 2, 3, 3]).shape == [4, 5, 10]  # full length: from the first axis
    assert F.pad(b, [1, 1, 0, 2, 3, 3], pad_from_left_axis=False).shape == [8, 5, 6]
    assert F.pad(b, [1, 1, 0, 2]).shape == [2, 5, 6]  # shorter: from the last
    assert F.pad(q, [1, 1], data_format="NHWC").shape == [1, 2, 3, 6] and F.pad(
        q, [1, 1, 2, 2], data_format="NHWC"
    ).shape == [1, 6, 5, 4]
    assert F.pad(q, [-1, 1, 0, 0]).shape == [1, 2, 3, 4] and F.pad(
        paddle.to_tensor([1, 2]), [1, 1], value=5
    ).tolist() == [5, 1, 2, 5]
    for bad in (
        lambda: F.pad(b, [1, 1, 1]),
        lambda: F.pad(b, [4, 0], mode="reflect", data_format="NCL"),
        lambda: F.pad(b, [1, 1], mode="abc"),
        lambda: F.pad(b, [1, 1], data_format="NCHW"),
        lambda: F.pad(paddle.ones([2, 3]), [1, 1], mode="reflect"),
        lambda: F.pad(b, []),
        lambda: F.pad(b, [-1, 0], mode="replicate", data_format="NCL"),
        lambda: F.pad(b, [-9, 0], data_format="NCL"),
    ):
        with pytest.raises(ValueError):
            bad()


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x.reshape([4, 3]).transpose([1, 0]),
        lambda x: x.flip([0]).roll(1, 1),
        lambda x: x.as_strided([3, 3], [2, 1]),
        lambda x: x.unfold(1, 3, 1),
        lambda x: x.tile([2, 1]),
        lambda x: x.repeat_interleave(2, 1),
        lambda x: x.expand([2, 3, 4]),
        lambda x: F.pad(x.unsqueeze(0), [2, 1], mode="reflect"),
        lambda x: F.pad(x.unsqueeze(0), [2, 1], mode="circular"),
        lambda x: x.unbind(1)[1],
        lambda x: x.reshape([6, 2]).as_complex().as_real(),
        lambda x: paddle.crop(x, [2, 2], [1, 1]),
        lambda x: x.diagonal(1),
    ],
)
def test_gradients(f):
    check_grad(lambda x: f(x) * f(x), rng.randn(3, 4), order=2)


def test_casts():
    x = paddle.to_tensor([0.0, 1.7])
    assert [
        str(t.dtype)[7:] for t in (x.int(), x.long(), x.bool(), x.half(), x.double(), x.char(), x.byte(), x.cfloat())
    ] == ["int32", "int64", "bool", "float16", "float64", "int8", "uint8", "complex64"]
    assert x.float() is x and x.type_as(paddle.to_tensor([1])).tolist() == [0, 1]


def test_floats_wrap_into_small_integers():
    x = paddle.to_tensor([2.1, -0.9, -1.87, 300.7, 70000.0])  # recorded from the official package
    assert x.astype("uint8").tolist() == [2, 0, 255, 44, 112]
    assert x.astype("int8").tolist() == [2, 0, -1, 44, 112]
    assert x.astype("int16").tolist() == [2, 0, -1, 300, 4464]
