"""Linear algebra: products, norms, decompositions, equations."""
from __future__ import annotations

from .ops.decomposition import (
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
from .ops.diagonals import diagonal
from .ops.equations import (
                                cholesky_inverse,
                                cholesky_solve,
                                cond,
                                det,
                                inv,
                                lstsq,
                                lu_solve,
                                matrix_exp,
                                matrix_power,
                                matrix_rank,
                                pca_lowrank,
                                pinv,
                                slogdet,
                                solve,
                                svd_lowrank,
                                triangular_solve,
)
from .ops.linalg import corrcoef, cov, cross, fp8_fp8_half_gemm_fused, matmul, multi_dot, vecdot
from .ops.manipulation import matrix_transpose
from .ops.norm import matrix_norm, norm, vector_norm

__all__ = ["cholesky", "cholesky_inverse", "cholesky_solve", "cond", "corrcoef", "cov", "cross", "det", "diagonal",
           "eig", "eigh", "eigvals", "eigvalsh", "fp8_fp8_half_gemm_fused", "householder_product", "inv", "lstsq",
           "lu", "lu_solve", "lu_unpack", "matmul", "matrix_exp", "matrix_norm", "matrix_power", "matrix_rank",
           "matrix_transpose", "multi_dot", "norm", "ormqr", "pca_lowrank", "pinv", "qr", "slogdet", "solve", "svd",
           "svd_lowrank", "svdvals", "triangular_solve", "vecdot", "vector_norm"]
