"""paddle.sparse against dense NumPy and behaviour of the official package."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import paddle
from tests._check import compare

S, t = paddle.sparse, paddle.to_tensor


def coo(values=(1.0, -2.0, 3.0), stop_gradient=True):
    values = values if isinstance(values, paddle.Tensor) else np.array(values, "float32")
    return S.sparse_coo_tensor([[0, 1, 2], [1, 2, 0]], values, [3, 4], stop_gradient=stop_gradient)


def csr(values=(1.0, -2.0, 3.0, 4.0, 5.0), stop_gradient=True):
    values = values if isinstance(values, paddle.Tensor) else np.array(values, "float32")
    return S.sparse_csr_tensor([0, 2, 3, 5], [1, 3, 2, 0, 1], values, [3, 4], stop_gradient=stop_gradient)


def repeated():
    return S.sparse_coo_tensor([[0, 1, 0], [1, 2, 1]], [1.0, 2.0, 3.0], [3, 4])


def dense(shape, seed=0, keep=0.5):
    rng = np.random.RandomState(seed)
    return (rng.randn(*shape) * (rng.rand(*shape) < keep)).astype("float32")


# ---- what a sparse tensor is ----


def test_attributes():
    x, y = coo(), csr()
    assert (x.is_sparse(), x.is_sparse_coo(), x.is_sparse_csr(), x.is_dense()) == (True, True, False, False)
    assert (y.is_sparse(), y.is_sparse_coo(), y.is_sparse_csr(), y.is_dense()) == (True, False, True, False)
    assert isinstance(x, paddle.Tensor) and x.shape == [3, 4] and x.ndim == 2 and x.size == 12 and len(x) == 3
    assert x.nnz() == 3 and x.sparse_dim() == 2 and x.dense_dim() == 0 and x.dtype is paddle.float32
    assert x.indices().dtype is paddle.int64 and y.crows().tolist() == [0, 2, 3, 5]
    assert y.cols().tolist() == [1, 3, 2, 0, 1]
    compare(x.to_dense(), [[0, 1, 0, 0], [0, 0, -2, 0], [3, 0, 0, 0]])
    compare(y.to_dense(), [[0, 1, 0, -2], [0, 0, 3, 0], [4, 5, 0, 0]])


def test_print():
    assert repr(coo()) == (
        "Tensor(shape=[3, 4], dtype=paddle.float32, place=Place(cpu), stop_gradient=True, \n"
        "       indices=[[0, 1, 2],\n                [1, 2, 0]], \n       values=[ 1., -2.,  3.])"
    )
    assert repr(csr()).endswith(
        "crows=[0, 2, 3, 5], \n       cols=[1, 3, 2, 0, 1], \n       values=[ 1., -2.,  3.,  4.,  5.])"
    )


def test_index_types_are_kept_and_cast():
    x = S.sparse_coo_tensor(np.array([[0], [1]], "int32"), [1.0], [2, 2])
    assert x.indices().dtype is paddle.int32 and S.add(x, x).indices().dtype is paddle.int32
    y = S.cast(csr(), "int32", "float64")
    assert (y.crows().dtype, y.cols().dtype, y.dtype) == (paddle.int32, paddle.int32, paddle.float64)


def test_shapes_are_found():
    assert S.sparse_coo_tensor([[0, 2], [1, 3]], [1.0, 2.0]).shape == [3, 4]
    assert S.sparse_coo_tensor([[0, 1]], [[1.0, 2], [3, 4]]).shape == [2, 2]
    assert S.sparse_csr_tensor([0, 1, 2], [1, 3], [1.0, 2.0]).shape == [2, 4]


def test_copies():
    for x in (coo(stop_gradient=False), csr()):
        for y in (copy.deepcopy(x), pickle.loads(pickle.dumps(x)), x.clone(), x.detach(), x.cpu(), x.astype("float64")):
            compare(y.to_dense(), x.to_dense().numpy())
            assert y.is_sparse_csr() == x.is_sparse_csr()
        assert pickle.loads(pickle.dumps(x)).stop_gradient == x.stop_gradient


def test_the_indices_handed_out_are_a_copy():
    x = coo()
    i = x.indices()
    i[0, 0] = 2
    compare(x.to_dense(), coo().to_dense().numpy())


def test_coalesce():
    x = repeated()
    assert not x.is_coalesced() and not coo().is_coalesced()
    y = S.coalesce(x)
    assert y.is_coalesced() and y.indices().tolist() == [[0, 1], [1, 2]] and y.values().tolist() == [4.0, 2.0]
    compare(x.to_dense(), y.to_dense().numpy())
    assert x.coalesce().nnz() == 2 and x.to_sparse_csr().nnz() == 3


@pytest.mark.parametrize(
    "call, error",
    [
        (lambda: S.sparse_coo_tensor([[0, 5], [1, 2]], [1.0, 2.0], [2, 3]), ValueError),
        (lambda: S.sparse_coo_tensor([[-1], [0]], [1.0], [2, 2]), ValueError),
        (lambda: S.sparse_coo_tensor([[0, 1], [1, 2]], [1.0], [2, 3]), ValueError),
        (lambda: S.sparse_coo_tensor([0, 1], [1.0, 2.0], [3]), ValueError),
        (lambda: S.sparse_coo_tensor([[0], [1]], [1.0], [3]), ValueError),
        (lambda: S.sparse_coo_tensor([[0, 1]], [[1.0, 2], [3, 4]], [2, 3]), ValueError),
        (lambda: S.sparse_coo_tensor(np.zeros((2, 0), "int64"), np.zeros(0)), ValueError),
        (lambda: S.sparse_coo_tensor([[0.5], [1.0]], [1.0], [2, 2]), TypeError),
        (lambda: S.sparse_csr_tensor([0, 1], [0], [1.0], [3, 3]), ValueError),
        (lambda: S.sparse_csr_tensor([0, 1, 1, 1], [7], [1.0], [3, 3]), ValueError),
        (lambda: S.sparse_csr_tensor([0, 2, 1, 2], [0, 1], [1.0, 2.0], [3, 3]), ValueError),
        (lambda: S.sparse_csr_tensor([1, 2, 2, 2], [0, 1], [1.0, 2.0], [3, 3]), ValueError),
        (lambda: S.sparse_csr_tensor([0, 1, 1, 1], [0], [1.0, 2.0], [3, 3]), ValueError),
        (lambda: S.sparse_csr_tensor([0, 1], [0], [1.0], [3]), ValueError),
    ],
)
def test_creation_refuses(call, error):
    with pytest.raises(error, match="sparse_c"):
        call()


@pytest.mark.parametrize(
    "call",
    [
        lambda: paddle.tanh(coo()),
        lambda: coo() + 1.0,
        lambda: coo()[0],
        lambda: coo().numpy(),
        lambda: paddle.matmul(coo(), csr()),
        lambda: paddle.zeros_like(coo()),
        lambda: bool(coo()),
        lambda: S.sin(paddle.ones([2])),
        lambda: paddle.ones([2]).values(),
        lambda: coo().crows(),
        lambda: csr().indices(),
        lambda: csr().coalesce(),
        lambda: S.add(coo(), csr()),
        lambda: S.add(coo(), paddle.ones([3, 4])),
    ],
)
def test_dense_and_sparse_do_not_mix_silently(call):
    with pytest.raises(TypeError, match="sparse"):
        call()


# ---- conversions ----


@settings(max_examples=12, deadline=None)
@given(shape=st.lists(st.integers(0, 3), min_size=1, max_size=4), seed=st.integers(0, 9), data=st.data())
def test_round_trip_through_coo(shape, seed, data):
    x = dense(shape, seed)
    k = data.draw(st.integers(1, len(shape)))
    y = t(x).to_sparse_coo(k)
    assert y.is_coalesced() and y.sparse_dim() == k and y.dense_dim() == len(shape) - k
    compare(y.to_dense(), x)
    if k == len(shape):
        assert y.nnz() == np.count_nonzero(x)
        if k in (2, 3):
            z = y.to_sparse_csr()
            compare(z.to_dense(), x)
            assert z.to_sparse_coo(k).indices().tolist() == y.indices().tolist()


def test_batches_of_csr_start_from_0_each():
    x = t([[[0.0, 1], [2, 0]], [[1, 0], [1, 1]]]).to_sparse_csr()
    assert x.crows().tolist() == [0, 1, 2, 0, 1, 3] and x.cols().tolist() == [1, 0, 0, 0, 1]


def test_nan_is_stored_and_minus_zero_is_not():
    assert t([[0.0, float("nan")], [-0.0, 0.0]]).to_sparse_coo(2).indices().tolist() == [[0], [1]]


@pytest.mark.parametrize("k", [0, 3, True, None])
def test_to_sparse_coo_refuses(k):
    with pytest.raises(ValueError, match="sparse_dim"):
        paddle.ones([2, 2]).to_sparse_coo(k)


def test_compiled_functions_do_not_know_the_places():
    import jax

    from paddle.engine.tensor import _make

    with pytest.raises(RuntimeError, match="to_sparse_coo"):
        jax.jit(lambda a: _make(a).to_sparse_coo(1).values()._value)(np.ones(3, "float32"))
    x = coo()

    def f(values):  # but values may be unknown
        return S.matmul(S.tanh(x.like(_make(values))), t(np.ones((4, 2), "float32")))._value

    np.testing.assert_allclose(jax.jit(f)(x.values().numpy()), f(x.values()._value), rtol=1e-6)


# ---- functions of values ----

UNARY = dict(
    sin=np.sin,
    tan=np.tan,
    asin=np.arcsin,
    atan=np.arctan,
    sinh=np.sinh,
    asinh=np.arcsinh,
    atanh=np.arctanh,
    tanh=np.tanh,
    square=np.square,
    sqrt=np.sqrt,
    log1p=np.log1p,
    expm1=np.expm1,
    abs=np.abs,
    neg=np.negative,
    deg2rad=np.deg2rad,
    rad2deg=np.rad2deg,
    isnan=np.isnan,
)


@pytest.mark.parametrize("name", UNARY)
def test_unary(name):
    values = np.array([0.3, 0.7, 0.1, 0.5, 0.2], "float32")
    for x in (coo(values[:3]), csr(values)):
        y = getattr(S, name)(x)
        compare(y.values(), UNARY[name](x.values().numpy()))
        assert y.nnz() == x.nnz() and getattr(x, name)().nnz() == x.nnz()


def test_power_and_operators():
    x = coo()
    compare(S.pow(x, 2.0).values(), [1, 4, 9])
    for y, want in (
        (x**2, [1, 4, 9]),
        (-x, [-1, 2, -3]),
        (abs(x), [1, 2, 3]),
        (x * 2.0, [2, -4, 6]),
        (2 * x, [2, -4, 6]),
        (x / 2, [0.5, -1, 1.5]),
        (x + x, [2, -4, 6]),
        (x - x, [0, 0, 0]),
        (x * x, [1, 4, 9]),
    ):
        compare(y.values(), want)


# ---- two tensors ----


def other():
    return S.sparse_coo_tensor([[0, 1, 2], [1, 1, 0]], [10.0, 20.0, 0.0], [3, 4])


def test_binary_stores_what_one_of_them_stores():
    a, b = coo(), other()
    for name, values in (("add", [11, 20, -2, 3]), ("subtract", [-9, -20, -2, 3]), ("multiply", [10, 0, 0, 0])):
        c = getattr(S, name)(a, b)
        assert c.indices().tolist() == [[0, 1, 1, 2], [1, 1, 2, 0]]
        compare(c.values(), values)


def test_division_has_a_value_everywhere():
    c = S.divide(coo(), other())
    assert c.nnz() == 12
    with np.errstate(all="ignore"):
        compare(c.to_dense(), coo().to_dense().numpy() / other().to_dense().numpy())


@pytest.mark.parametrize("name", ["add", "subtract", "multiply"])
@settings(max_examples=4, deadline=None)
@given(seed=st.integers(0, 99), keep=st.floats(0, 1))
def test_binary_is_that_of_dense_tensors(name, seed, keep):
    a, b = dense((3, 4), seed, keep), dense((3, 4), seed + 1)
    want = getattr(np, name)(a, b)
    compare(getattr(S, name)(t(a).to_sparse_coo(2), t(b).to_sparse_coo(2)).to_dense(), want)
    compare(getattr(S, name)(t(a).to_sparse_csr(), t(b).to_sparse_csr()).to_dense(), want)
    compare(getattr(S, name)(t(a).to_sparse_coo(1), t(b).to_sparse_coo(1)).to_dense(), want)


def test_repeated_places_are_added_first():
    compare(S.multiply(repeated(), repeated()).to_dense(), repeated().to_dense().numpy() ** 2)


def test_binary_types_and_errors():
    i = S.sparse_coo_tensor([[0, 1], [1, 1]], [7, 3], [3, 4])
    assert S.add(i, i).dtype is paddle.int64 and S.divide(i, i).dtype is paddle.float32
    with pytest.raises(TypeError, match="add"):
        S.add(i, coo())
    with pytest.raises(ValueError, match="add"):
        S.add(coo(), S.sparse_coo_tensor([[0], [1]], [1.0], [3, 5]))
    with pytest.raises(ValueError, match="too many"):
        huge = S.sparse_coo_tensor([[0], [1]], [1.0], [10**6, 10**6])
        S.divide(huge, huge)


# ---- products ----


@settings(max_examples=4, deadline=None)
@given(
    m=st.integers(1, 4),
    k=st.integers(1, 4),
    n=st.integers(1, 4),
    seed=st.integers(0, 99),
    batch=st.lists(st.integers(1, 2), max_size=1),
)
def test_matmul(m, k, n, seed, batch):
    a, b = dense((*batch, m, k), seed), dense((*batch, k, n), seed + 1)
    want, sparse_a, sparse_b = a @ b, t(a).to_sparse_coo(a.ndim), t(b).to_sparse_coo(b.ndim)
    compare(S.matmul(sparse_a, t(b)), want, atol=1e-5)
    compare(S.matmul(sparse_a.to_sparse_csr(), t(b)), want, atol=1e-5)
    compare(S.matmul(t(a), sparse_b), want, atol=1e-5)
    compare(S.matmul(sparse_a, sparse_b).to_dense(), want, atol=1e-5)
    c = S.matmul(sparse_a.to_sparse_csr(), sparse_b.to_sparse_csr())
    assert c.is_sparse_csr()
    compare(c.to_dense(), want, atol=1e-5)
    mask = t(np.ones_like(want)).to_sparse_csr()
    compare(S.masked_matmul(t(a), t(b), mask).to_dense(), want, atol=1e-5)


def test_mv_and_addmm():
    a, v, b, c = csr(), dense((4,), 1, 1), dense((4, 2), 2, 1), dense((3, 2), 3, 1)
    full = a.to_dense().numpy()
    compare(S.mv(a, t(v)), full @ v)
    compare(S.addmm(t(c), a, t(b), beta=0.5, alpha=2.0), 0.5 * c + 2 * full @ b, rtol=1e-4)
    both = S.addmm(t(c).to_sparse_csr(), a, t(b).to_sparse_csr(), beta=0.5, alpha=2.0)
    compare(both.to_dense(), 0.5 * c + 2 * full @ b, rtol=1e-4)
    compare(coo() @ t(b), coo().to_dense().numpy() @ b)


@pytest.mark.parametrize(
    "call",
    [
        lambda: S.matmul(coo(), paddle.ones([3, 2])),
        lambda: S.matmul(coo(), paddle.ones([4])),
        lambda: S.mv(coo(), paddle.ones([3])),
        lambda: S.addmm(paddle.ones([2, 2]), coo(), paddle.ones([4, 2])),
        lambda: S.masked_matmul(paddle.ones([3, 2]), paddle.ones([2, 3]), csr()),
        lambda: S.matmul(paddle.ones([2, 3, 4]).to_sparse_coo(2), paddle.ones([2, 4, 2])),
    ],
)
def test_products_refuse(call):
    with pytest.raises(ValueError, match="matmul|mv|addmm"):
        call()


def test_products_do_not_promote():
    with pytest.raises(TypeError, match="matmul"):
        S.matmul(coo(), paddle.ones([4, 2], "float64"))


@pytest.mark.parametrize("center", [False, True])
def test_pca_finds_the_singular_values(center):
    x = dense((8, 5), 4, 0.6)
    u, s, v = S.pca_lowrank(t(x).to_sparse_coo(2), q=5, center=center)
    x = x - x.mean(0) * center
    np.testing.assert_allclose(s.numpy(), np.linalg.svd(x, compute_uv=False), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose((u * s).matmul(v.transpose([1, 0])).numpy(), x, atol=1e-4)


# ---- other shapes ----


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 99), data=st.data())
def test_transpose_reshape_slice_and_sum(seed, data):
    x = dense((2, 3, 4), seed)
    k = data.draw(st.integers(1, 3))
    y = t(x).to_sparse_coo(k)
    perm = data.draw(st.permutations(range(k))) + data.draw(st.permutations(range(k, 3)))
    compare(S.transpose(y, perm).to_dense(), x.transpose(perm))
    if k == 3:
        compare(S.reshape(y, [4, -1]).to_dense(), x.reshape(4, -1))
        compare(S.transpose(y.to_sparse_csr(), perm).to_dense(), x.transpose(perm))
    axis = data.draw(st.integers(-3, 2))
    start, stop = data.draw(st.integers(-6, 6)), data.draw(st.integers(-6, 6))
    cut = [slice(None)] * 3
    cut[axis] = slice(start, stop)
    compare(S.slice(y, [axis], [start], [stop]).to_dense(), x[tuple(cut)])
    compare(S.sum(y, axis, keepdim=True).to_dense(), x.sum(axis, keepdims=True), atol=1e-5)
    axes = data.draw(st.sets(st.integers(0, 2), min_size=1, max_size=2))
    if len(axes - set(range(k))) < 3 - k or k == 3 or axes != set(range(k)):
        want = x.sum(tuple(axes), keepdims=False)
        got = S.sum(y, list(axes)).to_dense()
        compare(got.reshape(want.shape), want, atol=1e-5)


def test_sum_as_officially():
    assert S.sum(coo()).shape == [1] and S.sum(coo()).values().tolist() == [2.0]
    assert S.sum(coo(), keepdim=True).shape == [1, 1]
    y = S.sum(csr(), -1)
    assert y.crows().tolist() == [0, 1, 2, 3] and y.cols().tolist() == [0, 0, 0] and y.values().tolist() == [-1, 3, 9]
    assert S.sum(csr()).shape == [1, 1] and S.sum(coo(), dtype="float64").dtype is paddle.float64
    assert S.sum(S.cast(coo(), None, "int32")).dtype is paddle.int64
    with pytest.raises(NotImplementedError, match="sum"):
        S.sum(csr(), 0)


def test_mask_as_and_is_same_shape():
    x = t(np.arange(12, dtype="float32").reshape(3, 4))
    assert S.mask_as(x, coo()).values().tolist() == [1, 6, 8]
    assert S.mask_as(x, csr()).values().tolist() == [1, 3, 6, 8, 9]
    assert S.is_same_shape(coo(), csr()) and S.is_same_shape(coo(), x) and not S.is_same_shape(coo(), x.t())
    assert coo().is_same_shape(x)


@pytest.mark.parametrize(
    "call",
    [
        lambda: S.transpose(coo(), [0]),
        lambda: S.transpose(coo(), [0, 0]),
        lambda: S.transpose(coo(), [0, 5]),
        lambda: S.reshape(coo(), [5, 3]),
        lambda: S.reshape(coo(), [-1, -1]),
        lambda: S.slice(coo(), [5], [0], [1]),
        lambda: S.slice(coo(), [0], [0, 1], [1]),
        lambda: S.sum(coo(), 5),
        lambda: S.mask_as(paddle.ones([3, 3]), coo()),
        lambda: S.reshape(paddle.ones([2, 2]).to_sparse_coo(1), [4]),
    ],
)
def test_shapes_refuse(call):
    with pytest.raises(ValueError, match="transpose|reshape|slice|sum|mask_as"):
        call()


# ---- gradients ----


def numeric(f, x, step=1e-6):
    out = np.zeros_like(x)
    for i in range(x.size):
        up, down = x.copy(), x.copy()
        up.reshape(-1)[i] += step
        down.reshape(-1)[i] -= step
        out.reshape(-1)[i] = (float(f(t(up))) - float(f(t(down)))) / (2 * step)
    return out


W = np.cos(np.arange(12.0)).reshape(3, 4)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: S.tanh(x).to_dense() * t(W),
        lambda x: S.multiply(x, x).to_dense() * t(W),
        lambda x: S.add(x, S.square(x)).to_dense() * t(W),
        lambda x: S.matmul(x, t(W.T.copy())),
        lambda x: S.matmul(x, S.transpose(x, [1, 0])).to_dense(),
        lambda x: S.sum(x, 0).to_dense() ** 2,
        lambda x: S.reshape(x, [4, 3]).to_dense() * t(W.reshape(4, 3)),
        lambda x: S.slice(x, [1], [1], [4]).to_dense() ** 2,
        lambda x: S.coalesce(x).values() ** 2,
        lambda x: x.to_sparse_csr().values() ** 3,
        lambda x: S.mask_as(x.to_dense() ** 2, x).values(),
        lambda x: S.pow(S.divide(x, 2.0), 3.0).values(),
        lambda x: S.nn.functional.softmax(x).to_dense() * t(W),
    ],
)
def test_gradients_reach_the_values(f):
    indices = [[0, 2, 2, 0, 2], [1, 3, 0, 1, 1]]  # unsorted, one place twice

    def loss(values):
        return f(S.sparse_coo_tensor(indices, values, [3, 4], stop_gradient=False)).sum()

    values = np.array([0.5, -1.2, 0.8, 0.3, 0.9])
    leaf = t(values, stop_gradient=False)
    loss(leaf).backward()
    np.testing.assert_allclose(leaf.grad.numpy(), numeric(loss, values), rtol=1e-5, atol=1e-6)


def test_gradients_of_dense_factors():
    a, b = dense((3, 2), 1, 1).astype("float64"), dense((2, 4), 2, 1).astype("float64")

    def loss(x):
        return (S.masked_matmul(x, t(b), S.cast(csr(), None, "float64")).values() ** 2).sum()

    x = t(a, stop_gradient=False)
    loss(x).backward()
    np.testing.assert_allclose(x.grad.numpy(), numeric(loss, a), rtol=1e-5, atol=1e-7)
    x = t(a.T.copy(), stop_gradient=False)  # through to_sparse_coo
    (x.to_sparse_coo(2).to_dense() * 3).sum().backward()
    assert (x.grad.numpy() == 3).all()


def test_a_sparse_leaf_collects_sparse_gradients():
    x = csr(stop_gradient=False)
    for _ in range(2):
        y = S.tanh(x)
        y.backward(y)
    v = csr().values().numpy()
    assert x.is_leaf and x.grad.is_sparse_csr() and x.grad.cols().tolist() == x.cols().tolist()
    compare(x.grad.values(), 2 * np.tanh(v) * (1 - np.tanh(v) ** 2))
    x.clear_gradient()
    assert x.grad.values().tolist() == [0] * 5


def test_values_on_the_tape_get_the_gradient_and_the_flag_is_respected():
    v = t([1.0, 2.0, 3.0], stop_gradient=False)
    x = coo(v, stop_gradient=False)
    assert not x.is_leaf and not x.stop_gradient
    (x.to_dense() * 2).sum().backward()
    assert v.grad.tolist() == [2, 2, 2] and x.grad is None
    assert coo(v).stop_gradient and coo(v).is_leaf


def test_grad_hooks_and_wrong_gradients():
    x = coo(stop_gradient=False)
    seen = []
    x.register_hook(lambda g: seen.append(g) or g * 10.0)
    y = S.square(x)
    (first,) = paddle.grad([y.to_dense().sum()], [x], retain_graph=True)
    assert first.is_sparse_coo() and first.values().tolist() == [2, -4, 6]
    y.backward(coo([1.0, 1.0, 1.0]), retain_graph=True)
    assert seen[-1].values().tolist() == [2, -4, 6] and x.grad.values().tolist() == [20, -40, 60]
    y.backward(paddle.ones([3, 4]))
    with pytest.raises(ValueError, match="indices"):
        y.backward(other())


def test_second_derivatives():
    x = coo(stop_gradient=False)
    (first,) = paddle.grad(S.pow(x, 3.0).to_dense().sum(), x, create_graph=True)
    (second,) = paddle.grad(first.values().sum(), x)
    compare(second.values(), 6 * coo().values().numpy())


@pytest.mark.parametrize("rows", ["even", "one long row"])
def test_both_ways_of_multiplying(rows):
    rng = np.random.RandomState(0)
    indices = np.stack([np.repeat(np.arange(8), 2) if rows == "even" else np.zeros(16, int), rng.permutation(16) % 8])
    values, y = rng.randn(16), rng.randn(8, 3)
    y[0] = np.inf  # must not spread to rows that do not meet it
    x = S.sparse_coo_tensor(indices, values, [8, 8])
    met = np.zeros((8, 8), bool)
    met[indices[0], indices[1]] = True
    got = S.matmul(x, t(y)).numpy()
    assert (np.isfinite(got).all(1) == ~met[:, 0]).all()
    assert (x._pattern.cache["tables"][0] is not None) == (rows == "even")
    y[0] = 1.0
    v, d = t(values, stop_gradient=False), t(y, stop_gradient=False)
    (S.matmul(S.sparse_coo_tensor(indices, v, [8, 8], stop_gradient=False), d) ** 2).sum().backward()
    np.add.at(out := np.zeros((8, 3)), indices[0], values[:, None] * y[indices[1]])
    np.testing.assert_allclose(v.grad.numpy(), (2 * out[indices[0]] * y[indices[1]]).sum(1))
    np.add.at(want_y := np.zeros((8, 3)), indices[1], values[:, None] * 2 * out[indices[0]])
    np.testing.assert_allclose(d.grad.numpy(), want_y)


def test_second_derivatives_and_complex_numbers_of_products():
    x = csr(stop_gradient=False).astype("float64").detach()
    x.stop_gradient = False
    y = t(dense((4, 2), 1, 1).astype("float64"), stop_gradient=False)
    (first,) = paddle.grad((S.matmul(x, y) ** 3).sum(), y, create_graph=True)
    (second,) = paddle.grad((first**2).sum(), x)

    def loss(values):
        u = t(y.numpy(), stop_gradient=False)
        (g,) = paddle.grad((S.matmul(x.detach().like(values), u) ** 3).sum(), u)
        return (g**2).sum()

    np.testing.assert_allclose(second.values().numpy(), numeric(loss, x.values().numpy()), rtol=1e-5)
    z = t(np.array([1 + 2j, 3 - 1j]), stop_gradient=False)
    m = S.sparse_coo_tensor([[0, 1], [1, 0]], z, [2, 2], stop_gradient=False)
    (S.matmul(m, t(np.array([[1j], [2.0]]))).abs() ** 2).sum().backward()
    compare(z.grad, 2 * np.array([1 + 2j, 3 - 1j]) * np.array([4, 1]))


def test_backward_starts_at_a_sparse_tensor():
    x = coo(stop_gradient=False)
    y = S.multiply(x, x)
    y.backward(y)  # the gradient of y times that of the square
    compare(x.grad.to_dense(), 2 * coo().to_dense().numpy() ** 3)
    z = S.nn.functional.softmax(x.detach().to_sparse_csr())
    z.stop_gradient = False
    z.backward(z)
