"""Linear algebra: products, norms, decompositions, equations."""
from __future__ import annotations

from .ops.linalg import corrcoef, cov, cross, matmul, multi_dot, vecdot
from .ops.norm import matrix_norm, norm, vector_norm
