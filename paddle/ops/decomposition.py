"""Decompositions of matrices: Cholesky, LU, QR, singular values, eigenvalues."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from ..engine import errors
from ..engine.op import api, op
from ..engine.promotion import as_float
from ..engine.value import ABSTRACT
from .reduction import check_tensor

lapack = jax.lax.linalg


def matrices(name, x, square=False, argument="x"):
    """A stack of matrices in a type that LAPACK knows (integers and half precision become float32).

    Raises ValueError for fewer than two dimensions and, if asked, for matrices that are not square.
    """
    check_tensor(name, x, argument)
    if x.ndim < 2:
        raise errors.ValueError_(f"{name}: {argument} must have at least two dimensions, got shape {list(x.shape)}")
    if square and x.shape[-1] != x.shape[-2]:
        raise errors.ValueError_(
            f"{name}: the matrices must be square, the last two dimensions of {argument} are "
            f"{x.shape[-2]} and {x.shape[-1]}"
        )
    x = as_float(x)
    return x.astype(np.float32) if x.dtype.itemsize < 4 else x


def hermitian(x):
    """The conjugate transpose."""
    return jnp.conj(x.swapaxes(-1, -2))


def require(ok, message):
    """Raise a ValueError when a computed truth is false; nothing is known while a function is being compiled."""
    value = ok._value
    if isinstance(value, jax.Array) and not isinstance(value, ABSTRACT) and not bool(value):
        raise errors.ValueError_(message)


def from_triangle(x, upper):
    """The Hermitian matrices of which one triangle is given; with the gradient of the symmetric part, as officially."""
    triangle = hermitian(jnp.triu(x)) if upper else jnp.tril(x)
    read = triangle + hermitian(jnp.tril(triangle, -1))
    whole = (x + hermitian(x)) / 2
    return whole + jax.lax.stop_gradient(read - whole)


# ---- Cholesky ----


@op(method=False, export=False, name="cholesky")
def _cholesky(x, upper):
    x = matrices("cholesky", x, square=True)
    factor = lapack.cholesky(from_triangle(x, upper), symmetrize_input=False)
    ok = jnp.all(~jnp.any(jnp.isnan(factor), (-1, -2)) | jnp.any(jnp.isnan(x), (-1, -2)))
    return hermitian(factor) if upper else factor, ok


@api
def cholesky(x, upper=False):
    """The triangular factor L of Hermitian positive definite matrices, x = L L^H, or U with x = U^H U.

    Args:
        x: [..., n, n]; only its lower (upper) triangle is read.

    Raises:
        ValueError: the matrices are not square or not positive definite.

    Example:
        >>> paddle.linalg.cholesky(paddle.to_tensor([[4.0, 0.0], [0.0, 9.0]])).tolist()
        [[2.0, 0.0], [0.0, 3.0]]
    """
    factor, ok = _cholesky(x, bool(upper))
    require(ok, "cholesky: a matrix is not positive definite")
    return factor


# ---- LU ----


def lu_factors(x):
    """(LU, permutation, whether no pivot is zero or NaN) of a stack of square matrices."""
    factors, _, permutation = lapack.lu(x)
    return factors, permutation, jnp.all(jnp.abs(jnp.diagonal(factors, axis1=-2, axis2=-1)) > 0)


def lu_backsolve(factors, permutation, b, conjugate_transpose=False):
    """Solve A x = b (or A^H x = b) with the factors of A."""

    def triangle(b, lower):
        return lapack.triangular_solve(
            factors,
            b,
            left_side=True,
            lower=lower,
            unit_diagonal=lower,
            transpose_a=conjugate_transpose,
            conjugate_a=conjugate_transpose,
        )

    if not conjugate_transpose:
        return triangle(triangle(jnp.take_along_axis(b, permutation[..., None], -2), True), False)
    back = jnp.argsort(permutation, -1)
    return jnp.take_along_axis(triangle(triangle(b, False), True), back[..., None], -2)


@op(method=False, export=False, save="residuals", name="lu")
def _lu(x):
    x = matrices("lu", x)
    if x.size == 0:
        k = min(x.shape[-2:])
        return x, jnp.zeros(x.shape[:-2] + (k,), np.int32), jnp.zeros(x.shape[:-2], np.int32)
    factors, pivots, _ = lapack.lu(x)
    zero = jnp.diagonal(jax.lax.stop_gradient(factors), axis1=-2, axis2=-1) == 0
    info = jnp.where(jnp.any(zero, -1), jnp.argmax(zero, -1) + 1, 0)
    return factors, (pivots + 1).astype(np.int32), info.astype(np.int32)


@api(export=False)
def lu(x, pivot=True, get_infos=False):
    """The LU decomposition with row exchanges.

    Args:
        x: [..., m, n].
        get_infos: also return for each matrix 0, or the number (from 1) of the first pivot that is zero.

    Returns:
        (L below and U on and above the diagonal in one matrix, pivots int32 [..., min(m, n)] counted from 1[, infos int32]).

    Raises:
        ValueError: fewer than two dimensions, or pivot=False.

    Example:
        >>> paddle.linalg.lu(paddle.to_tensor([[1.0, 2.0], [4.0, 4.0]]))[1].tolist()
        [2, 2]
    """
    if not pivot:
        raise errors.ValueError_("lu: only pivot=True is supported")
    factors, pivots, info = _lu(x)
    return (factors, pivots, info) if get_infos else (factors, pivots)


@op(method=False, export=False, name="lu_unpack")
def _lu_unpack(x, y, unpack_ludata, unpack_pivots):
    x = matrices("lu_unpack", x)
    m, n = x.shape[-2:]
    k = min(m, n)
    check_tensor("lu_unpack", y, "y")
    if y.shape != x.shape[:-2] + (k,):
        raise errors.ValueError_(
            f"lu_unpack: the pivots must have shape {list(x.shape[:-2] + (k,))}, got {list(y.shape)}"
        )
    permutation = lower = upper = jnp.zeros((0,), x.dtype)
    if unpack_pivots:
        order = lapack.lu_pivots_to_permutation(y - 1, m)
        permutation = jnp.swapaxes(jax.nn.one_hot(order, m, dtype=x.dtype), -1, -2)
    if unpack_ludata:
        lower = jnp.tril(x[..., :k], -1) + jnp.eye(m, k, dtype=x.dtype)
        upper = jnp.triu(x[..., :k, :])
    return permutation, lower, upper


@api(export=False)
def lu_unpack(x, y, unpack_ludata=True, unpack_pivots=True):
    """The matrices P, L and U, x = P L U, from the results of `lu`; empty tensors stand for what is not asked for.

    Raises:
        ValueError: pivots of another shape.

    Example:
        >>> p, l, u = paddle.linalg.lu_unpack(*paddle.linalg.lu(paddle.to_tensor([[0.0, 2.0], [4.0, 4.0]])))
        >>> (p @ l @ u).tolist()
        [[0.0, 2.0], [4.0, 4.0]]
    """
    return _lu_unpack(x, y, bool(unpack_ludata), bool(unpack_pivots))


# ---- QR ----


def _qr_reduced(x):
    m, n = x.shape[-2:]
    if m >= n:
        return jnp.linalg.qr(x, mode="reduced")
    q, r = jnp.linalg.qr(x[..., :m], mode="reduced")
    return q, jnp.concatenate([r, jnp.matmul(hermitian(q), x[..., m:])], -1)


@op(method=False, export=False, save="residuals", name="qr")
def _qr(x):
    return tuple(_qr_reduced(matrices("qr", x)))


@op(method=False, export=False, differentiable=False, name="qr_complete")
def _qr_complete(x):
    return tuple(jnp.linalg.qr(matrices("qr", x), mode="complete"))


@api(export=False)
def qr(x, mode="reduced"):
    """The QR decomposition: x = Q R with orthonormal columns of Q and an upper triangular R.

    Args:
        x: [..., m, n].
        mode: "reduced": Q [..., m, k], R [..., k, n] with k = min(m, n); "complete": Q [..., m, m], R [..., m, n], without a
            gradient unless m <= n; "r": R alone.

    Raises:
        ValueError: another mode, fewer than two dimensions.

    Example:
        >>> q, r = paddle.linalg.qr(paddle.to_tensor([[1.0, 2.0], [3.0, 4.0]]))
        >>> paddle.linalg.norm(q @ r - paddle.to_tensor([[1.0, 2.0], [3.0, 4.0]])).item() < 1e-5
        True
    """
    if mode not in ("reduced", "complete", "r"):
        raise errors.ValueError_(f"qr: mode must be 'reduced', 'complete' or 'r', got {mode!r}")
    if mode == "complete" and len(x.shape) >= 2 and x.shape[-2] > x.shape[-1]:
        return _qr_complete(x)
    q, r = _qr(x)
    return r if mode == "r" else (q, r)


def _reflect(x, tau):
    """The first columns of the product of Householder reflections, [..., m, n]."""
    m, n = x.shape[-2:]
    k = tau.shape[-1]
    vectors = jnp.tril(x, -1) + jnp.eye(m, n, dtype=x.dtype)

    def apply(i, q):
        i = k - 1 - i
        v = jax.lax.dynamic_slice_in_dim(vectors, i, 1, axis=-1)
        scaled = jax.lax.dynamic_slice_in_dim(tau, i, 1, axis=-1)[..., None] * v
        return q - jnp.matmul(scaled, jnp.matmul(hermitian(v), q))

    return jax.lax.fori_loop(0, k, apply, jnp.broadcast_to(jnp.eye(m, n, dtype=x.dtype), x.shape))


def _check_reflectors(name, x, tau):
    x, tau = matrices(name, x), as_float(check_tensor(name, tau, "tau"))
    if x.shape[-2] < x.shape[-1]:
        raise errors.ValueError_(f"{name}: x must have at least as many rows as columns, got shape {list(x.shape)}")
    if tau.ndim != x.ndim - 1 or tau.shape[:-1] != x.shape[:-2] or tau.shape[-1] > x.shape[-1]:
        raise errors.ValueError_(
            f"{name}: tau must have shape {list(x.shape[:-2])} + [at most {x.shape[-1]}], got {list(tau.shape)}"
        )
    return x, tau.astype(x.dtype)


@op(export=False)
def householder_product(x, tau):
    """The first n columns of the product of the reflections I - tau_i v_i v_i^H, whose v_i are the columns of x below the
    diagonal (with ones on it): the Q of a QR decomposition in LAPACK's form.

    Args:
        x: [..., m, n], m >= n.
        tau: [..., k], k <= n.

    Raises:
        ValueError: other shapes.

    Example:
        >>> paddle.linalg.householder_product(paddle.to_tensor([[1.0], [1.0]]), paddle.to_tensor([1.0])).tolist()
        [[0.0], [-1.0]]
    """
    return _reflect(*_check_reflectors("householder_product", x, tau))


@op(static="left transpose", export=False)
def ormqr(x, tau, y, left=True, transpose=False):
    """The product of y with Q = `householder_product(x, tau)` or with its conjugate transpose: from the left or the right.

    Raises:
        ValueError: shapes that do not fit.

    Example:
        >>> paddle.linalg.ormqr(paddle.to_tensor([[1.0], [1.0]]), paddle.to_tensor([1.0]), paddle.ones([1, 1])).tolist()
        [[0.0], [-1.0]]
    """
    q = _reflect(*_check_reflectors("ormqr", x, tau))
    y = matrices("ormqr", y, argument="y").astype(q.dtype)
    q = hermitian(q) if transpose else q
    a, b = (q, y) if left else (y, q)
    if a.shape[-1] != b.shape[-2]:
        raise errors.ValueError_(
            f"ormqr: y of shape {list(y.shape)} cannot be multiplied with Q of shape "
            f"{list(q.shape)} from the {'left' if left else 'right'}"
        )
    return jnp.matmul(a, b)


# ---- singular values ----


def _svd_of(x, full_matrices):
    u, s, vh = jnp.linalg.svd(x, full_matrices=False)
    m, n = x.shape[-2:]
    if full_matrices and m != n:
        # The further vectors only complete a basis; no gradient is defined for them.
        full_u, _, full_vh = jnp.linalg.svd(jax.lax.stop_gradient(x), full_matrices=True)
        u = jnp.concatenate([u, full_u[..., min(m, n) :]], -1)
        vh = jnp.concatenate([vh, full_vh[..., min(m, n) :, :]], -2)
    return u, s, vh


@op(method=False, export=False, save="residuals")
def svd(x, full_matrices=False):
    """The singular value decomposition: x = U diag(S) VH.

    Args:
        x: [..., m, n].
        full_matrices: complete U to [..., m, m] and VH to [..., n, n].

    Returns:
        (U, S, VH), the singular values S in descending order.

    Raises:
        ValueError: fewer than two dimensions.

    Example:
        >>> paddle.linalg.svd(paddle.to_tensor([[3.0, 0.0], [0.0, 4.0]]))[1].tolist()
        [4.0, 3.0]
    """
    return _svd_of(matrices("svd", x), full_matrices)


@op(method=False, export=False, save="residuals")
def svdvals(x):
    """The singular values of matrices, in descending order.

    Example:
        >>> paddle.linalg.svdvals(paddle.to_tensor([[3.0, 0.0], [0.0, 4.0]])).tolist()
        [4.0, 3.0]
    """
    return jnp.linalg.svd(matrices("svdvals", x), compute_uv=False)


# ---- eigenvalues ----


def _eigh_of(name, x, UPLO):
    x = matrices(name, x, square=True)
    if UPLO not in ("L", "U"):
        raise errors.ValueError_(f"{name}: UPLO must be 'L' or 'U', got {UPLO!r}")
    vectors, values = lapack.eigh(from_triangle(x, UPLO == "U"), symmetrize_input=False)
    return values, vectors


@op(method=False, export=False, save="residuals")
def eigh(x, UPLO="L"):
    """The eigenvalues, in ascending order, and the orthonormal eigenvectors (columns) of Hermitian matrices.

    Args:
        x: [..., n, n]; only the triangle `UPLO` ("L" lower, "U" upper) is read.

    Raises:
        ValueError: the matrices are not square, another UPLO.

    Example:
        >>> paddle.linalg.eigh(paddle.to_tensor([[2.0, 0.0], [0.0, 1.0]]))[0].tolist()
        [1.0, 2.0]
    """
    return _eigh_of("eigh", x, UPLO)


@op(save="residuals")
def eigvalsh(x, UPLO="L"):
    """The eigenvalues of Hermitian matrices, in ascending order; see `eigh`.

    Example:
        >>> paddle.linalg.eigvalsh(paddle.to_tensor([[2.0, 0.0], [0.0, 1.0]])).tolist()
        [1.0, 2.0]
    """
    return _eigh_of("eigvalsh", x, UPLO)[0]


def _eig_gradient(inputs, outputs, cotangents):
    """Giles (2008), "Collected matrix derivative results", for eigenvectors of norm 1."""
    values, vectors = outputs
    gv, gw = cotangents[1], cotangents[0]
    back = hermitian(vectors)
    middle = 0 if gw is None else gw[..., None] * jnp.eye(values.shape[-1], dtype=values.dtype)
    if gv is not None:
        inner = jnp.matmul(back, gv)
        size = jnp.diagonal(inner, axis1=-2, axis2=-1).real[..., None, :]
        inner = inner - jnp.matmul(back, vectors) * size
        gap = jnp.conj(values[..., None, :] - values[..., :, None])
        diagonal = jnp.eye(values.shape[-1], dtype=bool)
        middle = middle + jnp.where(diagonal, 0, inner / jnp.where(diagonal, 1, gap))
    found = jnp.linalg.solve(back, jnp.matmul(middle, back))
    return found if jnp.iscomplexobj(inputs[0]) else found.real


@op(export=False, gradient=_eig_gradient)
def eig(x):
    """The eigenvalues and the eigenvectors (columns of norm 1) of square matrices, complex, in no particular order.

    Raises:
        ValueError: the matrices are not square.

    Example:
        >>> paddle.linalg.eig(paddle.to_tensor([[2.0, 0.0], [0.0, 3.0]]))[0].tolist()
        [(2+0j), (3+0j)]
    """
    return tuple(jnp.linalg.eig(matrices("eig", x, square=True)))


@op(export=False, save="residuals")
def eigvals(x):
    """The eigenvalues of square matrices, complex; see `eig`.

    Example:
        >>> paddle.linalg.eigvals(paddle.to_tensor([[2.0, 0.0], [0.0, 3.0]])).tolist()
        [(2+0j), (3+0j)]
    """
    x = matrices("eigvals", x, square=True)
    if x.size == 0:
        return jnp.zeros(x.shape[:-1], jnp.promote_types(x.dtype, np.complex64))
    return lapack.eig(x, compute_left_eigenvectors=False, enable_eigvec_derivs=True)[0]
