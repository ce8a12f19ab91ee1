"""Linear algebra: products, norms, decompositions, equations."""
from __future__ import annotations

from .ops.decomposition import (cholesky, eig, eigh, eigvals, eigvalsh, householder_product, lu, lu_unpack, ormqr, qr, svd,
                                svdvals)
from .ops.diagonals import diagonal
from .ops.equations import (cholesky_inverse, cholesky_solve, cond, det, inv, lstsq, lu_solve, matrix_exp, matrix_power,
                            matrix_rank, pca_lowrank, pinv, slogdet, solve, svd_lowrank, triangular_solve)
from .ops.linalg import corrcoef, cov, cross, matmul, multi_dot, vecdot
from .ops.manipulation import matrix_transpose
from .ops.norm import matrix_norm, norm, vector_norm
