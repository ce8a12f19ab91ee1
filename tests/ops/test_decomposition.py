"""Decompositions, linear equations, functions of matrices."""

import numpy as np
import pytest
import scipy.linalg

import paddle

from _check import check_grad, compare

nan, inf = float("nan"), float("inf")
R = np.random.RandomState(0)
A, B = R.randn(3, 3), R.randn(4, 3)
S = A @ A.T + 3 * np.eye(3)
t, ones, L = paddle.to_tensor, paddle.ones, paddle.linalg
SINGULAR = ones([2, 2])
SQUARE = ["inv", "det", "slogdet", "cholesky", "eigh", "eigvalsh", "eig", "eigvals", "matrix_exp", "cholesky_inverse"]
ANY = ["qr", "svd", "svdvals", "lu", "pinv", "cond", "matrix_rank"]


def conj_t(a):
    return np.conj(np.swapaxes(a, -1, -2))


@pytest.mark.parametrize("name", SQUARE + ANY)
def test_shapes_that_are_refused(name):
    f = getattr(L, name)
    for x in [ones([3]), [1.0]] + ([ones([3, 2]), ones([0, 3, 2])] if name in SQUARE else []):
        with pytest.raises(ValueError, match="inverse" if name == "inv" else name):
            f(x)


@pytest.mark.parametrize("name", SQUARE + ANY)
def test_empty_stacks_and_matrices(name):
    f = getattr(L, name)
    leads = (
        {f(paddle.zeros([0, 3, 3])).shape[1 if name == "slogdet" else 0]}
        if name not in ("qr", "svd", "lu", "eigh", "eig")
        else {o.shape[0] for o in f(paddle.zeros([0, 3, 3]))}
    )
    assert leads == {0}
    f(paddle.zeros([0, 0]))


@pytest.mark.parametrize("dtype", ["float32", "complex128"])
@pytest.mark.parametrize("shape", [(4, 3), (3, 4), (2, 3, 3)])
def test_decompositions_restore_the_matrix(shape, dtype):
    x = R.randn(*shape) + (1j * R.randn(*shape) if "complex" in dtype else 0)
    x = x.astype(dtype)
    tolerance = dict(rtol=1e-4, atol=1e-4)
    q, r = (v.numpy() for v in L.qr(t(x)))
    compare(q @ r, x, **tolerance)
    compare(conj_t(q) @ q, np.broadcast_to(np.eye(q.shape[-1]), q.shape[:-2] + (q.shape[-1],) * 2), **tolerance)
    for full in (False, True):
        u, s, vh = (v.numpy() for v in L.svd(t(x), full))
        k = s.shape[-1]
        compare(u[..., :k] * s[..., None, :] @ vh[..., :k, :], x, **tolerance)
        if full:
            compare(u @ conj_t(u), np.broadcast_to(np.eye(shape[-2]), u.shape), **tolerance)
    compare(L.svdvals(t(x)), s, **tolerance)
    p, lower, upper = (v.numpy() for v in L.lu_unpack(*L.lu(t(x))))
    compare(p @ lower @ upper, x, **tolerance)
    if shape[-1] == shape[-2]:
        w, v = (o.numpy() for o in L.eig(t(x)))
        compare(x @ v, v * w[..., None, :], **tolerance)
        h = x @ conj_t(x) + np.eye(3, dtype=dtype)
        w, v = (o.numpy() for o in L.eigh(t(h)))
        assert w.dtype.kind == "f"
        compare(v * w[..., None, :] @ conj_t(v), h, rtol=1e-3, atol=1e-3)
        c = L.cholesky(t(h)).numpy()
        compare(c @ conj_t(c), h, rtol=1e-3, atol=1e-3)


def test_qr_modes():
    x = t(B)
    q, r = L.qr(x, "complete")
    assert q.shape == [4, 4] and r.shape == [4, 3]
    compare(q @ r, B)
    compare(L.qr(x, "r"), L.qr(x)[1].numpy())
    with pytest.raises(ValueError, match="mode"):
        L.qr(x, "x")


def test_one_triangle_is_read():
    x = t([[1.0, 2.0], [9.0, 3.0]])
    compare(L.eigvalsh(x, "U"), [-0.236068, 4.236068])
    compare(L.eigh(x, "L")[0], [-7.055385, 11.055386])
    compare(L.cholesky(t([[4.0, 100.0], [2.0, 5.0]])), [[2, 0], [1, 2]])
    compare(L.cholesky(t([[4.0, 2.0], [100.0, 5.0]]), upper=True), [[2, 1], [0, 2]])
    with pytest.raises(ValueError, match="UPLO"):
        L.eigh(x, "x")


def test_lu_results():
    factors, pivots, info = L.lu(t([[1.0, 2.0], [4.0, 4.0]]), get_infos=True)
    compare(factors, [[4, 4], [0.25, 1]])
    assert pivots.tolist() == [2, 2] and pivots.dtype is paddle.int32 and info.item() == 0
    assert L.lu(SINGULAR, get_infos=True)[2].item() == 2
    assert [v.shape for v in L.lu_unpack(factors, pivots, unpack_pivots=False)] == [[0], [2, 2], [2, 2]]
    b = R.randn(3, 2)
    for trans, a in (("N", A), ("T", A.T)):
        compare(L.lu_solve(t(b), *L.lu(t(A)), trans=trans), np.linalg.solve(a, b))
    for call in (
        lambda: L.lu(t(A), pivot=False),
        lambda: L.lu_solve(t(b), *L.lu(t(A)), trans="X"),
        lambda: L.lu_unpack(factors, pivots[:1]),
    ):
        with pytest.raises(ValueError, match="lu"):
            call()


@pytest.mark.parametrize(
    "call",
    [
        lambda: L.inv(SINGULAR),
        lambda: L.inv(paddle.stack([paddle.eye(2), SINGULAR])),
        lambda: L.solve(SINGULAR, ones([2])),
        lambda: L.matrix_power(SINGULAR, -1),
        lambda: L.cond(SINGULAR, 1),
        lambda: L.inv(t([[nan, 1.0], [1.0, 2.0]])),
    ],
)
def test_singular_matrices_raise(call):
    with pytest.raises(ValueError, match="singular"):
        call()


def test_solve():
    b = R.randn(3, 2)
    compare(L.solve(t(S), t(b)), np.linalg.solve(S, b))
    compare(L.solve(t(S), t(b[:, 0])), np.linalg.solve(S, b[:, 0]))
    compare(L.solve(t(S), t(b.T.copy()), left=False) @ t(S), b.T)
    assert L.solve(t(np.stack([S, S])), ones([2, 3], "float64")).shape == [2, 3]  # a vector for each matrix
    assert L.solve(t(np.stack([S, S])), ones([3, 2], "float64")).shape == [2, 3, 2]
    compare(L.solve(A=t(S), B=t(b)), np.linalg.solve(S, b))
    for a, y in ((t(S), ones([4], "float64")), (t(B), ones([4], "float64")), (t(S), t(1.0, dtype="float64"))):
        with pytest.raises(ValueError, match="solve"):
            L.solve(a, y)
    with pytest.raises(TypeError):
        L.solve(t(S), ones([3]))


def test_triangular_and_cholesky_equations():
    b, u = R.randn(3, 2), np.triu(S)
    compare(L.triangular_solve(t(S), t(b)), np.linalg.solve(u, b))
    compare(L.triangular_solve(t(S), t(b), transpose=True), np.linalg.solve(u.T, b))
    compare(
        L.triangular_solve(t(S), t(b), upper=False, unitriangular=True), np.linalg.solve(np.tril(S, -1) + np.eye(3), b)
    )
    assert L.triangular_solve(t(np.stack([S, S])), t(b)).shape == [2, 3, 2]
    c = np.linalg.cholesky(S)
    compare(L.cholesky_solve(t(b), t(c)), np.linalg.solve(S, b))
    compare(L.cholesky_solve(t(b), t(c.T.copy()), upper=True), np.linalg.solve(S, b))
    compare(L.cholesky_inverse(t(c)), np.linalg.inv(S))
    for f in (
        lambda: L.triangular_solve(t(S), ones([2, 2], "float64")),
        lambda: L.cholesky_solve(ones([2, 2], "float64"), t(c)),
    ):
        with pytest.raises(ValueError, match="rows"):
            f()
    with pytest.raises(ValueError, match="positive definite"):
        L.cholesky(t([[-1.0, 0.0], [0.0, 1.0]]))
    assert np.isnan(L.cholesky(t([[nan, 0.0], [0.0, 1.0]])).numpy()).any()


def test_determinants():
    compare(L.det(t(np.stack([A, S]))), np.linalg.det(np.stack([A, S])))
    compare(L.slogdet(t(-S)), np.stack(np.linalg.slogdet(-S)))
    assert L.slogdet(SINGULAR).tolist() == [0, -inf] and L.det(SINGULAR).item() == 0
    assert L.det(paddle.zeros([0, 0])).item() == 1


def test_functions_of_matrices():
    compare(L.matrix_power(t(A), 3), A @ A @ A)
    compare(L.matrix_power(t(A), -2), np.linalg.inv(A @ A))
    compare(L.matrix_power(t(A), 0), np.eye(3))
    assert L.matrix_power(t([[1, 1], [0, 1]]), 3).dtype is paddle.int64
    with pytest.raises(TypeError):
        L.matrix_power(t(A), 1.5)
    for scale in (0.1, 1.0, 30.0):
        compare(L.matrix_exp(t(A * scale)), scipy.linalg.expm(A * scale), rtol=1e-8, atol=1e-8)
    compare(paddle.inverse(t(S)), np.linalg.inv(S))


def test_pseudo_inverse_rank_and_condition():
    compare(L.pinv(t(B)), np.linalg.pinv(B))
    compare(L.pinv(t(S), hermitian=True), np.linalg.inv(S))
    compare(L.pinv(t(np.diag([10.0, 1.0, 0.1])), rcond=0.05), np.diag([0.1, 1.0, 0.0]))
    compare(L.pinv(paddle.zeros([2, 3])), np.zeros((3, 2)))
    d = t(np.diag([3.0, 1.0, 0.1]))
    assert [
        L.matrix_rank(d, **k).item()
        for k in ({}, {"tol": 0.5}, {"atol": 0.5}, {"rtol": 0.1}, {"atol": 0.2, "rtol": 0.5})
    ] == [3, 2, 2, 2, 1]
    assert L.matrix_rank(t(np.stack([np.diag([3.0, -1.0])] * 2)), tol=t([0.5, 2.0]), hermitian=True).tolist() == [2, 1]
    assert L.matrix_rank(ones([2, 3, 3])).tolist() == [1, 1] and L.matrix_rank(paddle.zeros([2, 2])).item() == 0
    with pytest.raises(ValueError):
        L.matrix_rank(d, tol=0.1, rtol=0.1)
    for p in (None, "fro", "nuc", 1, -1, 2, -2, inf, -inf):
        compare(L.cond(t(S), p), np.linalg.cond(S, p))
    compare(L.cond(t(B)), np.linalg.cond(B))
    for x, p in ((t(S), 3), (t(B), 1)):
        with pytest.raises(ValueError, match="cond"):
            L.cond(x, p)


@pytest.mark.parametrize("driver", [None, "gels", "gelsy", "gelsd", "gelss"])
def test_least_squares(driver):
    y = R.randn(4, 2)
    solution, residuals, rank, sizes = L.lstsq(t(B), t(y), driver=driver)
    want, left, _, s = np.linalg.lstsq(B, y, rcond=None)
    compare(solution, want)
    compare(residuals, left if driver in ("gels", "gelsd", "gelss") else [])
    compare(sizes, s if driver in ("gelsd", "gelss") else [])
    assert rank.tolist() == ([] if driver == "gels" else 3)
    wide = L.lstsq(t(B.T.copy()), ones([3, 1], "float64"), driver=driver)
    compare(wide[0], np.linalg.lstsq(B.T, np.ones((3, 1)), rcond=None)[0])
    assert wide[1].shape == [0]


def test_least_squares_edges():
    compare(L.lstsq(ones([4, 2]), ones([4, 1]))[0], [[0.5], [0.5]])  # the shortest of many
    assert L.lstsq(ones([4, 2]), ones([4, 1]))[2].item() == 1
    for y in (ones([3, 1]), ones([4])):
        with pytest.raises(ValueError, match="lstsq"):
            L.lstsq(ones([4, 2]), y)
    with pytest.raises(ValueError, match="driver"):
        L.lstsq(ones([4, 2]), ones([4, 1]), driver="x")


def test_householder():
    (h, tau), r = scipy.linalg.qr(B, mode="raw")
    q = scipy.linalg.qr(B, mode="economic")[0]
    h = np.ascontiguousarray(h)
    compare(L.householder_product(t(h), t(tau)), q)
    y = R.randn(4, 2)
    compare(L.ormqr(t(h), t(tau), t(y), transpose=True), q.T @ y)
    compare(L.ormqr(t(h), t(tau), t(y.T.copy()), left=False), y.T @ q)
    for call in (
        lambda: L.householder_product(t(B.T.copy()), t(tau)),
        lambda: L.ormqr(t(h), t(tau), ones([3, 2], "float64"), transpose=True),
    ):
        with pytest.raises(ValueError):
            call()


def test_low_rank():
    x = R.randn(6, 2) @ R.randn(2, 5)
    u, s, v = L.svd_lowrank(t(x), q=2)
    compare((u * s) @ v.T, x, rtol=1e-6, atol=1e-6)
    u, s, v = L.pca_lowrank(t(x), q=2)
    compare((u * s) @ v.T, x - x.mean(0), rtol=1e-6, atol=1e-6)
    for q in (-1, 9):
        with pytest.raises(ValueError, match="q must"):
            L.svd_lowrank(t(x), q=q)


def sym(a):
    return (a + a.T) / 2


@pytest.mark.parametrize(
    "f, arrays",
    [
        (lambda a: L.cholesky(sym(a)), [S]),
        (lambda a: L.cholesky(sym(a), True), [S]),
        (L.inv, [S]),
        (L.solve, [S, A]),
        (lambda a, b: L.solve(a, b, left=False), [S, A[:2]]),
        (L.solve, [A, A[0]]),
        (L.triangular_solve, [np.triu(S), A]),
        (lambda a, b: L.triangular_solve(a, b, False, True), [np.tril(S), A]),
        (L.cholesky_solve, [A, np.tril(S)]),
        (L.cholesky_inverse, [np.tril(S)]),
        (L.det, [A]),
        (L.det, [[[1.0, 2.0], [2.0, 4.0]]]),
        (lambda a: L.slogdet(a)[1], [A]),
        (lambda a: L.matrix_power(a, -2), [S]),
        (L.matrix_exp, [A * 0.5]),
        (L.pinv, [B]),
        (lambda a: L.pinv(sym(a), hermitian=True), [S]),
        (lambda a: list(L.qr(a)), [B]),
        (lambda a: list(L.qr(a)), [np.ascontiguousarray(B.T)]),
        (lambda a: (lambda u, s, v: [s, paddle.abs(u), paddle.abs(v)])(*L.svd(a)), [B]),
        (lambda a: L.svd(a, True)[1], [B]),
        (L.svdvals, [B]),
        (lambda a: (lambda w, v: [w, paddle.abs(v)])(*L.eigh(sym(a))), [S]),
        (lambda a: L.eigvalsh(sym(a)), [S]),
        (lambda a: (paddle.real(L.eigvals(a)) ** 2).sum(), [S]),
        (lambda a: paddle.abs(L.eig(a)[1]).sum(0) ** 2, [S + 0.3 * A]),
        (lambda a: paddle.real(L.eig(a)[0]), [S + 0.3 * A]),
        (lambda a: L.lu(a)[0], [S]),
        (lambda a: L.lu(a)[0], [B]),
        (lambda a, b: L.lu_solve(b, *L.lu(a)), [A, A]),
        (lambda a: list(L.lu_unpack(*L.lu(a))[1:]), [A]),
        (L.householder_product, [B, A[0]]),
        (L.cond, [B]),
        (lambda a: L.cond(a, "fro"), [S]),
        (lambda a, b: L.lstsq(a, b)[0], [B, R.randn(4, 2)]),
    ],
)
def test_gradients(f, arrays):
    check_grad(f, *arrays, order=2, rtol=2e-5, atol=2e-5)


def test_the_gradient_of_one_triangle_is_symmetric():
    x = t([[4.0, 1.0], [1.0, 5.0]], stop_gradient=False)
    L.cholesky(x).sum().backward()
    compare(x.grad, [[0.201838, 0.192646], [0.192646, 0.229416]], rtol=1e-4)


@pytest.mark.parametrize("f", [L.inv, L.solve, L.det, L.cholesky])
def test_complex_gradients(f):
    """Against central differences: the gradient is dL/d(re) + i dL/d(im)."""
    z = A + 1j * R.randn(3, 3)
    z = z @ z.conj().T + 3 * np.eye(3) if f is L.cholesky else z
    b = t(R.randn(3, 2) + 1j * R.randn(3, 2))

    def loss(a):
        a = (a + paddle.conj(a).T) / 2 if f is L.cholesky else a
        out = f(a, b) if f is L.solve else f(a)
        return paddle.real(out).sum() + 2 * paddle.imag(out).sum()

    x = t(z, stop_gradient=False)
    loss(x).backward()
    want = np.zeros_like(z)
    for i in np.ndindex(3, 3):
        for unit in (1, 1j):
            step = np.zeros_like(z)
            step[i] = unit * 1e-6
            want[i] += unit * (float(loss(t(z + step))) - float(loss(t(z - step)))) / 2e-6
    compare(x.grad, want, rtol=1e-5, atol=1e-5)
