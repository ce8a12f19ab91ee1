"""Linear algebra, under the official module path; the functions are those of `paddle`."""

from ..ops.attributes import broadcast_shape
from ..ops.creation import full
from ..ops.decomposition import (
    cholesky,
    eig,
    eigh,
    eigvals,
    eigvalsh,
    householder_product,
    lu,
    lu_unpack,
    ormqr,
    qr,
    svd,
    svdvals,
)
from ..ops.equations import (
    cholesky_inverse,
    cholesky_solve,
    cond,
    lstsq,
    lu_solve,
    matrix_power,
    pca_lowrank,
    pinv,
    slogdet,
    solve,
    svd_lowrank,
)
from ..ops.linalg import bmm, corrcoef, cov, cross, dot, einsum, matmul, multi_dot, mv, vecdot
from ..ops.manipulation import cast, matrix_transpose, permute, t, t_, transpose, transpose_
from ..ops.norm import cdist, dist, norm
from ..ops.statistics import bincount, histogram, histogram_bin_edges, histogramdd
