"""Products, norms, distances, covariances."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import paddle

from _check import check_grad, compare

inf, nan = float("inf"), float("nan")
R = np.random.RandomState(0)
A, B, X = R.randn(3, 3), R.randn(4, 3), R.randn(3, 4)
t, ones, L = paddle.to_tensor, paddle.ones, paddle.linalg


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_matmul_shapes_as_numpy(data):
    k = data.draw(st.integers(0, 3))
    lead = data.draw(st.lists(st.integers(1, 2), max_size=2))
    a_shape = data.draw(st.sampled_from([[k], [2, k], lead + [2, k]]))
    b_shape = data.draw(st.sampled_from([[k], [k, 3], lead[1:] + [k, 3], [1] * len(lead) + [k, 3]]))
    a = np.arange(np.prod(a_shape), dtype="float64").reshape(a_shape)
    b = np.arange(np.prod(b_shape), dtype="float64").reshape(b_shape) + 1
    compare(paddle.matmul(t(a), t(b)), np.matmul(a, b))
    if a.ndim > 1 and b.ndim > 1:
        compare(paddle.matmul(t(a.swapaxes(-1, -2)), t(b.swapaxes(-1, -2)), True, True), np.matmul(a, b))


def test_matmul_types_and_operators():
    a, b = t([[1.0, 2.0]]), t(np.array([[3.0], [4.0]]))
    assert (a @ b).dtype is paddle.float32 and (b @ a).dtype is paddle.float64  # the type of x, no promotion
    assert (a.astype("int64") @ b).dtype is paddle.int64
    assert (a @ b.astype("complex64")).dtype is paddle.complex64
    for dtype in ("int8", "int32", "float16", "bfloat16"):
        assert (a.astype(dtype) @ b.astype(dtype)).dtype.name == dtype
    compare(np.ones((3, 1), "float32") @ a, [[1, 2]] * 3)
    compare(a @ np.ones((2, 1), "float32"), [[3]])


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda: ones([2, 3]) @ ones([2, 3]), "Input.X.*3 and 2"),
        (lambda: ones([2, 2, 3]) @ ones([3, 3, 2]), "leading axes"),
        (lambda: t(1.0) @ ones([2]), "at least one dimension"),
        (lambda: ones([2, 3]) @ 2, "must be a Tensor"),
        (lambda: paddle.matmul(ones([3]), ones([4])), "3 and 4"),
        (lambda: paddle.bmm(ones([2, 3]), ones([3, 2])), "3-D"),
        (lambda: paddle.bmm(ones([1, 2, 3]), ones([2, 3, 2])), "batch sizes"),
        (lambda: paddle.dot(ones([3]), ones([4])), "one shape"),
        (lambda: paddle.dot(t(1.0), t(1.0)), "1-D"),
        (lambda: paddle.mv(ones([2, 3]), ones([2])), "vec"),
        (lambda: paddle.addmm(ones([3, 2]), ones([2, 3]), ones([3, 2])), "broadcast"),
        (lambda: paddle.addmm(ones([2, 2]), ones([2, 3]), ones([2, 2])), "width"),
        (lambda: paddle.addmm(t(1.0), ones([2, 3]), ones([3, 2])), "broadcast"),
        (lambda: paddle.baddbmm(ones([2]), ones([2, 2, 3]), ones([2, 3, 2])), "broadcast"),
        (lambda: paddle.inner(ones([2, 3]), ones([2, 4])), "last axes"),
        (lambda: paddle.cross(ones([2, 4]), ones([2, 4])), "length 3"),
        (lambda: paddle.cross(ones([3]), ones([2, 3])), "one shape"),
        (lambda: paddle.cross(ones([2, 3]), ones([2, 3]), axis=0), "length 3"),
        (lambda: paddle.tensordot(ones([2, 3]), ones([2, 3]), 1), "differ"),
        (lambda: paddle.tensordot(ones([2]), ones([3]), 2), "axes"),
        (lambda: paddle.trace(ones([3])), "two dimensions"),
        (lambda: paddle.trace(ones([2, 3]), 0, 1, 1), "same axis"),
        (lambda: L.multi_dot([ones([2, 3])]), "at least two"),
        (lambda: L.multi_dot([ones([2, 3]), ones([2, 3])]), "differ"),
        (lambda: L.multi_dot([ones([2, 3]), ones([3]), ones([3])]), "only at the ends"),
        (lambda: paddle.kron(ones([2]), "x"), "Tensor"),
        (lambda: paddle.einsum("ij,jk->ik", ones([2, 3]), ones([4, 2])), "lengths 3 and 4"),
        (lambda: paddle.einsum("ijk->ij", ones([2, 3])), "label"),
        (lambda: paddle.einsum("ij,jk->ik", ones([2, 3])), "2 terms"),
        (lambda: paddle.einsum("ij->ik", ones([2, 3])), "no operand"),
        (lambda: paddle.einsum("i1->i", ones([2, 3])), "letters"),
        (lambda: paddle.norm(ones([2]), "abc"), "norm"),
        (lambda: paddle.norm(ones([2]), axis=5), "axis 5"),
        (lambda: paddle.norm(ones([2, 2]), 3, axis=[0, 1]), "matrix norm"),
        (lambda: L.matrix_norm(ones([3])), "two dimensions"),
        (lambda: L.vector_norm(ones([3]), "fro"), "number"),
        (lambda: paddle.cdist(ones([3, 2]), ones([4, 3])), "rows"),
        (lambda: paddle.cdist(ones([3, 2]), ones([4, 2]), -1.0), "at least 0"),
        (lambda: paddle.pdist(ones([2, 2, 2])), "2-D"),
        (lambda: paddle.cdist(ones([3, 2]), ones([4, 2]), compute_mode="x"), "compute_mode"),
        (lambda: L.cov(ones([2, 2, 2])), "1-D or 2-D"),
        (lambda: L.cov(ones([2, 3]), fweights=t([1, 2])), "shape"),
        (lambda: L.cov(ones([2, 3]), fweights=t([-1, 2, 1])), "negative"),
    ],
)
def test_errors(call, text):
    with pytest.raises(ValueError, match=text):
        call()


def test_type_and_index_errors():
    double = ones([3, 3], "float64")
    for call in (
        lambda: paddle.bmm(ones([1, 3, 3]), double.unsqueeze(0)),
        lambda: paddle.einsum("ij,jk", ones([3, 3]), double),
        lambda: paddle.tensordot(ones([3, 3]), double, 1),
        lambda: paddle.outer(t([1, 2]), ones([3])),
    ):
        with pytest.raises(TypeError):
            call()
    for call in (lambda: paddle.cross(ones([2, 3]), ones([2, 3]), axis=5), lambda: paddle.trace(ones([2, 3]), 0, 0, 5)):
        with pytest.raises(IndexError):
            call()


def test_other_products():
    compare(paddle.dot(ones([2, 3]), ones([2, 3])), [3, 3])
    compare(paddle.addmm(ones([2, 1]), ones([2, 3]), ones([3, 2]), beta=2, alpha=3), [[11, 11]] * 2)
    assert paddle.addmm(ones([2], "int64"), ones([2, 3], "int64"), ones([3, 2], "int64")).tolist() == [[4, 4]] * 2
    compare(paddle.outer(t(2.0), ones([3])), [[2, 2, 2]])
    compare(paddle.inner(t(2.0), ones([3])), [2, 2, 2])
    compare(paddle.cross(t([[1.0, 2, 3], [4, 5, 6]]), t([[1.0, 0, 0], [0, 1, 0]])), [[0, 3, -2], [-6, 0, 4]])
    compare(paddle.kron(t([[1, 2], [3, 4]]), t([1, 2])), [[1, 2, 2, 4], [3, 6, 4, 8]])
    assert L.vecdot(t([1 + 2j]), t([1 + 1j])).item() == 3 - 1j
    assert paddle.trace(t([[1, 2], [3, 4]], dtype="int32"), 9).dtype is paddle.int32
    x = ones([2, 2])
    assert x.addmm_(ones([2, 3]), ones([3, 2])) is x and x.tolist() == [[4, 4]] * 2


def test_eight_bit_product():
    x = t([[1.0, -2.0]]).astype("float8_e4m3fn")
    out = L.fp8_fp8_half_gemm_fused(x, x, False, True, bias=t([1.0]), scale=-0.5, act="relu")
    assert out.tolist() == [[0.0]] and out.dtype is paddle.float16
    assert L.fp8_fp8_half_gemm_fused(x, x, False, True, output_dtype="bfloat16").item() == 5
    with pytest.raises(ValueError, match="8-bit"):
        L.fp8_fp8_half_gemm_fused(ones([1, 1]), ones([1, 1]))


def test_tensordot_axes():
    a, b = R.randn(2, 3), R.randn(3, 2)
    compare(paddle.tensordot(t(a), t(b), 1), a @ b)
    compare(paddle.tensordot(t(a), t(a), [0, 1]), (a * a).sum())
    compare(paddle.tensordot(t(a), t(b), t([[1], [0]])), a @ b)
    compare(paddle.tensordot(t(A), t(A), [[1]]), A @ A.T)  # the shorter list is completed from the longer
    compare(paddle.tensordot(ones([1, 3]), ones([3, 3]), [[0], [0]]), 3 * np.ones((3, 3)))


@pytest.mark.parametrize(
    "equation, shapes",
    [
        ("ij,jk->ik", [(2, 3), (3, 4)]),
        ("ij,jk", [(2, 3), (3, 4)]),
        ("ba", [(2, 3)]),
        ("ii->", [(3, 3)]),
        ("ii->i", [(3, 3)]),
        ("...ij,...jk->...ik", [(2, 1, 2, 3), (4, 3, 2)]),
        ("i...->...", [(2, 3)]),
        ("i,j", [(2,), (3,)]),
        (" ij , jk -> ik ", [(2, 3), (3, 2)]),
        ("ij,jk,kl->il", [(2, 3), (3, 2), (2, 4)]),
        ("->", [()]),
        ("Ab,bC->AC", [(2, 3), (3, 2)]),
    ],
)
def test_einsum_as_numpy(equation, shapes):
    arrays = [R.randn(*s) for s in shapes]
    compare(paddle.einsum(equation, *map(t, arrays)), np.einsum(equation, *arrays))


def test_einsum_puts_repeated_result_labels_on_a_diagonal():
    out = paddle.einsum("ij->iji", t(A)).numpy()
    assert all(np.allclose(out[:, j, :], np.diag(A[:, j])) for j in range(3))
    compare(paddle.einsum("ij,ij->ij", ones([1, 3]), ones([2, 3])), np.ones((2, 3)))


@pytest.mark.parametrize("p", [0, 1, 2, 3.5, -1, inf, -inf])
def test_vector_norms(p):
    x = t(X)
    compare(L.vector_norm(x, p), np.linalg.norm(X.ravel(), p))
    compare(paddle.norm(x, p, axis=1), np.linalg.norm(X, p, axis=1))
    compare(L.vector_norm(x, p, axis=[0, 1], keepdim=True), [[np.linalg.norm(X.ravel(), p)]])


@pytest.mark.parametrize("p", ["fro", "nuc", 1, -1, 2, -2, inf, -inf])
def test_matrix_norms(p):
    x = R.randn(2, 3, 4)
    for axis in ([-2, -1], [2, 0]):
        compare(L.matrix_norm(t(x), p, axis, True), np.linalg.norm(x, p, tuple(axis), True))
        compare(paddle.norm(t(x), p, axis), np.linalg.norm(x, p, tuple(axis)))


def test_norm_defaults():
    x = t([[1.0, -2, 3], [-4, 5, -6]])
    compare(paddle.norm(x), 9.539392)
    compare(paddle.norm(x, axis=[0, 1]), 9.508031)  # two axes: the spectral norm
    compare(paddle.norm(x, keepdim=True), [[9.539392]])
    compare(x.norm("nuc"), 10.2809, rtol=1e-4)
    assert paddle.norm(paddle.zeros([0])).item() == 0 and paddle.norm(x, dtype="float64").dtype is paddle.float64
    assert paddle.norm(t([3 + 4j])).item() == 5
    out = paddle.zeros([])
    assert paddle.norm(x, 1, out=out) is out and out.item() == 21


def test_gradients_at_zero_are_zero():
    for f in (
        paddle.norm,
        lambda a: paddle.norm(a, 3),
        lambda a: L.matrix_norm(a.reshape([1, 2])),
        lambda a: paddle.dist(a, t([0.0, 0.0])),
        lambda a: paddle.cdist(a.reshape([1, 2]), paddle.zeros([1, 2])).sum(),
    ):
        x = t([0.0, 0.0], stop_gradient=False)
        f(x).backward()
        compare(x.grad, [0, 0])
    x = t([4.0, -4.0, 1.0], stop_gradient=False)
    paddle.norm(x, inf).backward()
    compare(x.grad, [1, -1, 0])  # as officially, not divided


def test_distances():
    x, y = R.randn(30, 3), R.randn(4, 3)
    far = np.abs(x[:, None] - y[None])
    for p, want in (
        (0.0, (far > 0).sum(-1)),
        (1.0, far.sum(-1)),
        (2.0, np.sqrt((far**2).sum(-1))),
        (inf, far.max(-1)),
        (3.0, (far**3).sum(-1) ** (1 / 3)),
    ):
        compare(paddle.cdist(t(x), t(y), p), want)
        compare(paddle.dist(t(x[0]), t(y[0]), p), want[0, 0])
    compare(paddle.cdist(t(x), t(y), compute_mode="donot_use_mm_for_euclid_dist"), np.sqrt((far**2).sum(-1)))
    assert paddle.cdist(ones([2, 1, 3, 2]), ones([5, 4, 2])).shape == [2, 5, 3, 4]
    compare(paddle.pdist(t([[1.0, 2], [3, 5], [1, 1]])), [3.605551, 1, 4.472136])
    assert paddle.pdist(t([[1.0, 2]])).shape == [0]


def test_covariance():
    compare(L.cov(t(X)), np.cov(X))
    compare(L.cov(t(X), rowvar=False, ddof=False), np.cov(X, rowvar=False, ddof=0))
    f, a = np.array([1, 2, 1, 3]), np.array([0.1, 0.5, 0.2, 0.3])
    compare(L.cov(t(X), fweights=t(f), aweights=t(a)), np.cov(X, fweights=f, aweights=a))
    compare(L.corrcoef(t(X)), np.corrcoef(X))
    assert L.cov(t([1.0, 2.0, 3.0])).item() == 1 and np.isnan(L.cov(t([[1.0], [2.0]])).numpy()).all()


@pytest.mark.parametrize(
    "f, arrays",
    [
        (paddle.matmul, [B, A]),
        (paddle.matmul, [R.randn(2, 1, 2, 3), R.randn(5, 3, 2)]),
        (paddle.matmul, [B, A[0]]),
        (lambda a, b: paddle.matmul(a, b, True, True), [B, R.randn(2, 4)]),
        (paddle.bmm, [R.randn(2, 2, 3), R.randn(2, 3, 2)]),
        (paddle.dot, [X, X + 1]),
        (lambda i, a, b: paddle.addmm(i, a, b, 2.0, 3.0), [A[0], B, A]),
        (paddle.outer, [A[0], B]),
        (paddle.inner, [X, R.randn(2, 4)]),
        (paddle.cross, [A, B[:3]]),
        (paddle.kron, [A[:2], B[:1]]),
        (lambda a, b: paddle.tensordot(a, b, [[0], [1]]), [B, X]),
        (lambda a, b: paddle.einsum("ij,jk->ki", a, b), [B, A]),
        (lambda a: paddle.einsum("ij->iji", a), [A]),
        (lambda a: paddle.trace(a * a, 1), [X]),
        (lambda *m: L.multi_dot(m), [B, A, A[0]]),
        (lambda a: paddle.norm(a, axis=0), [X]),
        (lambda a: paddle.norm(a * a, 1), [X]),
        (lambda a: paddle.norm(a, 3, axis=1), [X]),
        (lambda a: paddle.norm(a, -1, axis=1), [X]),
        (lambda a: paddle.norm(a * a, inf, axis=1), [X]),
        (lambda a: paddle.norm(a, "nuc"), [X]),
        (lambda a: L.matrix_norm(a, 2), [X]),
        (lambda a: L.matrix_norm(a * a, 1), [X]),
        (lambda a, b: paddle.dist(a, b, 3), [X, X + A[0, 0]]),
        (paddle.cdist, [A, B]),
        (lambda a, b: paddle.cdist(a * a, b, 1.0), [A, B]),
        (paddle.pdist, [X]),
        (L.cov, [X]),
        (L.corrcoef, [X]),
    ],
)
def test_gradients(f, arrays):
    check_grad(f, *arrays, order=2, rtol=2e-5, atol=2e-5)


def test_complex_gradients_are_not_conjugated():
    z = np.array([[1 + 2j, 0.5j], [3 - 1j, 2 + 0j]])
    x = t(z, stop_gradient=False)
    (paddle.norm(x) ** 2).backward()
    compare(x.grad, 2 * z)
    x, y = t(z, stop_gradient=False), t(z.T.copy())
    product = paddle.matmul(x, y)
    (product * paddle.conj(product)).real().sum().backward()
    compare(x.grad, 2 * (z @ z.T) @ z.T.conj().T)


def test_vecdot_sums_as_sum_does():
    x = paddle.to_tensor([[1, 2], [3, 4]], dtype="int32")
    assert paddle.vecdot(x, x).tolist() == [5, 25] and paddle.vecdot(x, x).dtype is paddle.int64
    assert paddle.vecdot(x, x, axis=None).item() == 30 and paddle.vecdot(x[0, 0], x[0, 1]).item() == 2
    assert paddle.reduce_as(x, x).dtype is paddle.int32 and paddle.reduce_as(x, x[0]).dtype is paddle.int64


def test_determinants_of_empty_matrices():
    assert paddle.linalg.det(paddle.ones([0, 0])).item() == 1 and paddle.linalg.det(
        paddle.ones([2, 0, 0])
    ).tolist() == [1, 1]


@pytest.mark.parametrize("dtype", ["float32", "complex128"])
def test_eigenvalues_of_empty_matrices(dtype):
    for shape in ([0, 0], [0, 3, 3], [2, 0, 0]):
        values = paddle.linalg.eigvals(paddle.zeros(shape, dtype))
        assert values.shape == shape[:-1] and values.dtype.is_complex
