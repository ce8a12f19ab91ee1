"""Linear equations and functions of matrices: solve, inverse, determinant, power, exponential, rank, least squares."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np

from ..engine import errors
from ..engine.op import api, op
from ..engine.promotion import same_type
from ..engine.tensor import Tensor
from ..engine.value import ABSTRACT
from .decomposition import hermitian, lapack, lu_backsolve, lu_factors, matrices, qr, require, svd
from .norm import matrix_norm
from .reduction import check_tensor

_SINGULAR = "a matrix is singular (Input is not invertible)"


def _stacks(name, a, b):
    """Two stacks of matrices with their leading axes broadcast."""
    try:
        lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    except ValueError:
        raise errors.ValueError_(
            f"{name}: the leading axes of shapes {list(a.shape)} and {list(b.shape)} do not broadcast"
        ) from None
    return jnp.broadcast_to(a, lead + a.shape[-2:]), jnp.broadcast_to(b, lead + b.shape[-2:])


def _check_rows(name, a, b):
    if a.shape[-2] != b.shape[-2]:
        raise errors.ValueError_(
            f"{name}: the matrices must have as many rows as the right-hand sides, got shapes "
            f"{list(a.shape)} and {list(b.shape)}"
        )


# ---- solve, inverse ----


def _solve_by_lu(a, b):
    """(x with a x = b, whether a is regular); the factors serve the gradient, too."""
    factors, permutation, ok = lu_factors(jax.lax.stop_gradient(a))
    x = jax.lax.custom_linear_solve(
        lambda v: jnp.matmul(a, v),
        b,
        lambda _, r: lu_backsolve(factors, permutation, r),
        lambda _, r: jnp.conj(lu_backsolve(factors, permutation, jnp.conj(r), True)),
    )
    return x, ok


@op(method=False, export=False, save="residuals", name="solve")
def _solve(x, y, left):
    x = matrices("solve", x, square=True)
    check_tensor("solve", y, "y")
    y = y.astype(x.dtype) if not jnp.issubdtype(y.dtype, jnp.inexact) or y.dtype.itemsize < 4 else y
    same_type("solve", x, y)
    vector = y.ndim == 1 or y.ndim == x.ndim - 1 and y.shape == x.shape[:-1]
    if y.ndim == 0:
        raise errors.ValueError_("solve: y must have at least one dimension")
    b = y[..., None] if vector else y
    if not left and not vector:
        x, b = x.swapaxes(-1, -2), b.swapaxes(-1, -2)
    elif not left:
        x = x.swapaxes(-1, -2)
    _check_rows("solve", x, b)
    a, b = _stacks("solve", x, b)
    out, ok = (b, jnp.asarray(True)) if b.size == 0 else _solve_by_lu(a, b)
    return out[..., 0] if vector else out if left else out.swapaxes(-1, -2), ok


@api(export=False, aliases={"A": "x", "B": "y"})
def solve(x, y, left=True):
    """The solution of x @ out = y, or of out @ x = y with `left=False`.

    Args:
        x: [..., n, n].
        y: [..., n, k], [n], or [..., n] with the leading axes of x. Leading axes broadcast.

    Raises:
        ValueError: a matrix is not square or singular, shapes that do not fit.
        TypeError: different types.

    Example:
        >>> paddle.linalg.solve(paddle.to_tensor([[2.0, 0.0], [0.0, 4.0]]), paddle.to_tensor([2.0, 2.0])).tolist()
        [1.0, 0.5]
    """
    out, ok = _solve(x, y, bool(left))
    require(ok, "solve: " + _SINGULAR)
    return out


@op(
    method=False,
    export=False,
    name="inverse",
    gradient=lambda inputs, outputs, cotangents: (
        -jnp.matmul(hermitian(outputs[0]), jnp.matmul(cotangents[0], hermitian(outputs[0])))
    ),
)
def _inverse(x):
    x = matrices("inverse", x, square=True)
    if x.size == 0:
        return x, jnp.asarray(True)
    factors, permutation, ok = lu_factors(x)
    return lu_backsolve(factors, permutation, jnp.broadcast_to(jnp.eye(x.shape[-1], dtype=x.dtype), x.shape)), ok


@api
def inverse(x):
    """The inverses of square matrices [..., n, n].

    Raises:
        ValueError: a matrix is not square or singular.

    Example:
        >>> paddle.linalg.inv(paddle.to_tensor([[2.0, 0.0], [0.0, 4.0]])).tolist()
        [[0.5, 0.0], [0.0, 0.25]]
    """
    out, ok = _inverse(x)
    require(ok, "inverse: " + _SINGULAR)
    return out


inv = inverse


@op(method=False, export=False)
def triangular_solve(x, y, upper=True, transpose=False, unitriangular=False):
    """The solution of x @ out = y for triangular matrices.

    Args:
        x: [..., n, n]; only the triangle that `upper` tells is read.
        y: [..., n, k]; leading axes broadcast.
        transpose: solve with the transpose of x.
        unitriangular: take the diagonal as ones.

    Raises:
        ValueError: shapes that do not fit.
        TypeError: different types.

    Example:
        >>> a, b = paddle.to_tensor([[1.0, 1.0], [0.0, 2.0]]), paddle.to_tensor([[3.0], [4.0]])
        >>> paddle.linalg.triangular_solve(a, b).tolist()
        [[1.0], [2.0]]
    """
    x, y = matrices("triangular_solve", x, square=True), matrices("triangular_solve", y, argument="y")
    same_type("triangular_solve", x, y)
    _check_rows("triangular_solve", x, y)
    x, y = _stacks("triangular_solve", x, y)
    return lapack.triangular_solve(
        x, y, left_side=True, lower=not upper, transpose_a=bool(transpose), unit_diagonal=bool(unitriangular)
    )


def _cholesky_backsolve(b, factor, upper):
    def triangle(b, transposed):
        return lapack.triangular_solve(
            factor, b, left_side=True, lower=not upper, transpose_a=transposed, conjugate_a=transposed
        )

    return triangle(triangle(b, upper), not upper)


@op(export=False)
def cholesky_solve(x, y, upper=False):
    """The solution of A @ out = x from the Cholesky factor y of A.

    Args:
        x: right-hand sides [..., n, k].
        y: the factor [..., n, n], lower or upper. Leading axes broadcast.

    Raises:
        ValueError: shapes that do not fit.

    Example:
        >>> paddle.linalg.cholesky_solve(paddle.to_tensor([[8.0]]), paddle.to_tensor([[2.0]])).tolist()
        [[2.0]]
    """
    b, factor = matrices("cholesky_solve", x), matrices("cholesky_solve", y, square=True, argument="y")
    same_type("cholesky_solve", b, factor)
    _check_rows("cholesky_solve", factor, b)
    factor, b = _stacks("cholesky_solve", factor, b)
    return _cholesky_backsolve(b, factor, bool(upper))


@op(export=False)
def cholesky_inverse(x, upper=False):
    """The inverse of A from its Cholesky factor x [..., n, n], lower or upper.

    Raises:
        ValueError: the matrices are not square.

    Example:
        >>> paddle.linalg.cholesky_inverse(paddle.to_tensor([[2.0]])).tolist()
        [[0.25]]
    """
    x = matrices("cholesky_inverse", x, square=True)
    return _cholesky_backsolve(jnp.broadcast_to(jnp.eye(x.shape[-1], dtype=x.dtype), x.shape), x, bool(upper))


@op(method=False, export=False)
def lu_solve(b, lu, pivots, trans="N"):
    """The solution of A @ out = b from the results of `lu`; with trans "T" or "C" of A^T or A^H.

    Args:
        b: right-hand sides [..., n, k].

    Raises:
        ValueError: shapes that do not fit, another trans.

    Example:
        >>> a = paddle.to_tensor([[0.0, 2.0], [4.0, 0.0]])
        >>> paddle.linalg.lu_solve(paddle.to_tensor([[2.0], [4.0]]), *paddle.linalg.lu(a)).tolist()
        [[1.0], [1.0]]
    """
    b, factors = matrices("lu_solve", b, argument="b"), matrices("lu_solve", lu, square=True, argument="lu")
    if trans not in ("N", "T", "C"):
        raise errors.ValueError_(f"lu_solve: trans must be 'N', 'T' or 'C', got {trans!r}")
    same_type("lu_solve", b, factors)
    _check_rows("lu_solve", factors, b)
    permutation = lapack.lu_pivots_to_permutation(pivots - 1, factors.shape[-1])
    factors, b = _stacks("lu_solve", factors, b)
    permutation = jnp.broadcast_to(permutation, factors.shape[:-1])
    if trans == "T":
        return jnp.conj(lu_backsolve(factors, permutation, jnp.conj(b), True))
    return lu_backsolve(factors, permutation, b, trans == "C")


# ---- determinants ----


@op(method=False, export=False)
def det(x):
    """The determinants of square matrices; 1 for empty ones.

    Raises:
        ValueError: the matrices are not square.

    Example:
        >>> paddle.linalg.det(paddle.to_tensor([[2.0, 0.0], [0.0, 3.0]])).item()
        6.0
    """
    x = matrices("det", x, square=True)
    return jnp.linalg.det(x) if x.shape[-1] else jnp.ones(x.shape[:-2], x.dtype)


@op(export=False)
def slogdet(x):
    """The sign and the logarithm of the absolute value of determinants, stacked: [2, ...]. (0, -inf) where it is 0.

    Raises:
        ValueError: the matrices are not square.

    Example:
        >>> paddle.linalg.slogdet(paddle.to_tensor([[-1.0, 0.0], [0.0, 1.0]])).tolist()
        [-1.0, 0.0]
    """
    sign, size = jnp.linalg.slogdet(matrices("slogdet", x, square=True))
    return jnp.stack([sign, size.astype(sign.dtype)])


# ---- functions of matrices ----


@op(method=False, export=False, name="matrix_power")
def _matrix_power(x, n):
    check_tensor("matrix_power", x)
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise errors.ValueError_(f"matrix_power: x must be square matrices, got shape {list(x.shape)}")
    return jnp.linalg.matrix_power(x, n)


@api(export=False)
def matrix_power(x, n):
    """The n-th power of square matrices; a negative n takes the inverse first, 0 gives the identity.

    Raises:
        ValueError: the matrices are not square, or singular with a negative n.
        TypeError: n is no int.

    Example:
        >>> paddle.linalg.matrix_power(paddle.to_tensor([[1, 1], [0, 1]]), 3).tolist()
        [[1, 3], [0, 1]]
    """
    n = n.item() if isinstance(n, Tensor) else n
    if not isinstance(n, (int, np.integer)):
        raise errors.TypeError_(f"matrix_power: n must be an int, got {errors.describe(n)}")
    return _matrix_power(x, n) if n >= 0 else _matrix_power(inverse(x), -n)


@op(method=False, export=False)
def matrix_exp(x):
    """The exponential of square matrices (Padé approximation with scaling and squaring).

    Raises:
        ValueError: the matrices are not square.

    Example:
        >>> paddle.linalg.matrix_exp(paddle.to_tensor([[0.0, 1.0], [0.0, 0.0]])).tolist()
        [[1.0, 1.0], [0.0, 1.0]]
    """
    check_tensor("matrix_exp", x)
    if x.ndim == 0:
        return jnp.exp(x)
    x = matrices("matrix_exp", x, square=True)
    return x if x.size == 0 else jax.scipy.linalg.expm(x, max_squarings=64)


@op(method=False, export=False, save="residuals", scalars="rcond", name="pinv")
def _pinv(x, rcond, hermitian):
    x = matrices("pinv", x, square=hermitian)
    if x.size == 0:
        return x.swapaxes(-1, -2)
    return jnp.linalg.pinv(x, rtol=jnp.asarray(rcond), hermitian=hermitian)


@api(export=False)
def pinv(x, rcond=1e-15, hermitian=False):
    """The Moore-Penrose inverses of matrices [..., m, n]: [..., n, m].

    Args:
        rcond: singular values below `rcond` times the largest count as zero; a number, or a tensor [...].
        hermitian: x is Hermitian, so eigenvalues do.

    Raises:
        ValueError: fewer than two dimensions, not square with `hermitian`.

    Example:
        >>> paddle.linalg.pinv(paddle.to_tensor([[2.0], [0.0]])).tolist()
        [[0.5, 0.0]]
    """
    return _pinv(x, rcond, bool(hermitian))


@op(method=False, export=False, differentiable=False, scalars="tol atol rtol", static="hermitian", name="matrix_rank")
def _matrix_rank(x, tol, atol, rtol, hermitian):
    x = matrices("matrix_rank", x, square=hermitian)
    if x.size == 0:
        return jnp.zeros(x.shape[:-2], np.int64)
    sizes = jnp.abs(jnp.linalg.eigvalsh(x)) if hermitian else jnp.linalg.svd(x, compute_uv=False)
    largest = jnp.max(sizes, -1)
    if tol is not None:
        bound = jnp.asarray(tol)
    elif atol is None and rtol is None:
        bound = largest * max(x.shape[-2:]) * jnp.finfo(x.dtype).eps
    else:
        bound = jnp.maximum(0 if atol is None else atol, (0 if rtol is None else rtol) * largest)
    return jnp.sum(sizes > jnp.asarray(bound)[..., None], -1, dtype=np.int64)


@api(method=False, export=False)
def matrix_rank(x, tol=None, hermitian=False, atol=None, rtol=None):
    """The ranks of matrices [..., m, n], int64: the numbers of singular values above a bound.

    Args:
        tol: the bound, a number or a tensor [...]; default: the largest singular value times max(m, n) times the precision.
        hermitian: x is Hermitian, so the absolute eigenvalues count.
        atol, rtol: the bound is the larger of atol and rtol times the largest singular value; not beside `tol`.

    Raises:
        ValueError: fewer than two dimensions, tol beside atol or rtol.

    Example:
        >>> paddle.linalg.matrix_rank(paddle.ones([3, 3])).item()
        1
    """
    if tol is not None and (atol is not None or rtol is not None):
        raise errors.ValueError_("matrix_rank: give either tol or atol and rtol")
    return _matrix_rank(x, tol, atol, rtol, bool(hermitian))


@op(method=False, export=False, save="residuals", name="cond")
def _cond(x, p):
    sizes = jnp.linalg.svd(matrices("cond", x), compute_uv=False)
    return sizes[..., 0] / sizes[..., -1] if p == 2 else sizes[..., -1] / sizes[..., 0]


@op(method=False, export=False, name="cond_empty")
def _cond_empty(x):
    return jnp.zeros(x.shape[:-2], x.dtype)


@api(export=False)
def cond(x, p=None):
    """The condition numbers of matrices: norm(x) norm(inverse of x) for the matrix norm p.

    Args:
        p: None or 2, -2 (by singular values, any shape); "fro", "nuc", 1, -1, inf, -inf (square matrices).

    Raises:
        ValueError: another p, fewer than two dimensions, matrices that are not square or singular.

    Example:
        >>> paddle.linalg.cond(paddle.to_tensor([[1.0, 0.0], [0.0, 4.0]])).item()
        4.0
    """
    p = 2 if p is None else p
    if p not in ("fro", "nuc", 1, -1, 2, -2, math.inf, -math.inf):
        raise errors.ValueError_(f"cond: p must be None, 'fro', 'nuc', 1, -1, 2, -2, inf or -inf, got {p!r}")
    check_tensor("cond", x)
    if x.ndim < 2:
        raise errors.ValueError_(f"cond: x must have at least two dimensions, got shape {list(x.shape)}")
    if x.size == 0:
        return _cond_empty(x)
    if p in (2, -2):
        return _cond(x, p)
    if x.shape[-1] != x.shape[-2]:
        raise errors.ValueError_(f"cond: with p={p!r} the matrices must be square, got shape {list(x.shape)}")
    return matrix_norm(x, p) * matrix_norm(inverse(x), p)


# ---- least squares, low rank ----


@op(method=False, export=False, scalars="rcond", save="residuals", name="lstsq")
def _lstsq(x, y, rcond):
    x, y = matrices("lstsq", x), matrices("lstsq", y, argument="y")
    same_type("lstsq", x, y)
    if x.shape[:-1] != y.shape[:-1]:
        raise errors.ValueError_(
            f"lstsq: x [..., m, n] and y [..., m, k] must agree, got shapes {list(x.shape)} and {list(y.shape)}"
        )
    sizes = jnp.linalg.svd(jax.lax.stop_gradient(x), compute_uv=False)
    bound = rcond * jnp.max(sizes, -1, keepdims=True, initial=0)
    rank = jnp.sum(sizes > bound, -1, dtype=np.int32)
    solution = jnp.matmul(jnp.linalg.pinv(x, rtol=jnp.asarray(rcond, sizes.dtype)), y)
    left = y - jnp.matmul(x, solution)
    return solution, jnp.sum(jnp.real(left * jnp.conj(left)), -2), rank, sizes


@api(export=False)
def lstsq(x, y, rcond=None, driver=None):
    """The solution of least squares |x @ out - y|, the shortest one where there are several.

    Args:
        x: [..., m, n].
        y: [..., m, k].
        rcond: singular values below `rcond` times the largest count as zero; default max(m, n) times the precision.
        driver: "gelsy" (default), "gels", "gelsd" or "gelss". They differ in what is returned: residuals (if m > n and x has
            full rank) not by gelsy, rank not by gels, singular values by gelsd and gelss.

    Returns:
        (solution [..., n, k], residuals [..., k], rank int32 [...], singular values [..., min(m, n)]); empty tensors stand
        for what there is not.

    Raises:
        ValueError: shapes that do not fit, another driver.

    Example:
        >>> paddle.linalg.lstsq(paddle.to_tensor([[1.0], [1.0]]), paddle.to_tensor([[1.0], [3.0]]))[0].round().tolist()
        [[2.0]]
    """
    if driver not in (None, "gels", "gelsy", "gelsd", "gelss"):
        raise errors.ValueError_(f"lstsq: driver must be None, 'gels', 'gelsy', 'gelsd' or 'gelss', got {driver!r}")
    m, n = (list(x.shape) + [0, 0])[-2:] if len(x.shape) < 2 else x.shape[-2:]
    if rcond is None:
        wide = x.dtype.is_differentiable and x.dtype.itemsize >= 4
        rcond = float(np.finfo(x.dtype.numpy if wide else np.float32).eps) * max(m, n)
    solution, residuals, rank, sizes = _lstsq(x, y, rcond)
    concrete = not isinstance(rank._value, ABSTRACT)
    if driver in (None, "gelsy") or m <= n or concrete and not (np.asarray(rank._value) == n).all():
        residuals = _empty(solution)
    return (
        solution,
        residuals,
        _empty(rank).astype("int64") if driver == "gels" else rank,
        sizes if driver in ("gelsd", "gelss") else _empty(sizes),
    )


@op(method=False, export=False, differentiable=False, name="empty_like_vector")
def _empty(x):
    return jnp.zeros((0,), x.dtype)


def _low_rank(name, x, q, niter, M):
    """Randomised range finding with power iterations (Halko, Martinsson, Tropp, 2009)."""
    from .random import randn

    m, n = x.shape[-2:]
    if not isinstance(q, int) or not 0 <= q <= min(m, n):
        raise errors.ValueError_(
            f"{name}: q must lie between 0 and {min(m, n)}, the lesser length of the matrices, got {q!r}"
        )
    if not isinstance(niter, int) or not 0 <= niter <= 1000:
        raise errors.ValueError_(f"{name}: niter must be an int from 0 to 1000, got {niter!r}")
    if M is not None:
        x = x - M
    back = _adjoint(x)
    basis = _q(x @ randn(list(x.shape[:-2]) + [n, q], x.dtype))
    for _ in range(niter):
        basis = _q(x @ _q(back @ basis))
    u, s, vh = svd(_adjoint(basis) @ x)
    return basis @ u, s, _adjoint(vh)


@op(method=False, export=False, name="adjoint")
def _adjoint(x):
    return hermitian(x)


def _q(x):
    return qr(x)[0]


@api(export=False)
def svd_lowrank(x, q=None, niter=2, M=None):
    """The q largest singular values with their vectors, approximately, by a random projection.

    Args:
        x: [..., m, n].
        q: default min(6, m, n).
        niter: power iterations; more are more exact.
        M: a matrix of the shape of x that is subtracted first.

    Returns:
        (U [..., m, q], S [..., q], V [..., n, q]) with x about U diag(S) V^H.

    Raises:
        ValueError: q is out of range.

    Example:
        >>> round(paddle.linalg.svd_lowrank(paddle.to_tensor([[3.0, 0.0], [0.0, 4.0]]), q=2)[1].max().item(), 4)
        4.0
    """
    if len(x.shape) < 2:
        raise errors.ValueError_(f"svd_lowrank: x must have at least two dimensions, got shape {list(x.shape)}")
    return _low_rank("svd_lowrank", x, min(6, *x.shape[-2:]) if q is None else q, niter, M)


@api(export=False)
def pca_lowrank(x, q=None, center=True, niter=2):
    """The q leading principal components, approximately, by a random projection.

    Args:
        x: observations [..., m, n].
        q: default min(6, m, n).
        center: subtract the mean of each column first.

    Returns:
        (U [..., m, q], S [..., q], V [..., n, q]), the components being the columns of V.

    Raises:
        ValueError: q is out of range.

    Example:
        >>> paddle.linalg.pca_lowrank(paddle.ones([4, 3]), q=2)[2].shape
        [3, 2]
    """
    if len(x.shape) < 2:
        raise errors.ValueError_(f"pca_lowrank: x must have at least two dimensions, got shape {list(x.shape)}")
    return _low_rank(
        "pca_lowrank", x, min(6, *x.shape[-2:]) if q is None else q, niter, x.mean(-2, True) if center else None
    )
