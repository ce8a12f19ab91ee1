"""paddle.sparse: tensors that store only some of their elements, in the layouts COO and CSR."""
from . import nn
from .binary import add, divide, multiply, subtract
from .creation import coalesce, sparse_coo_tensor, sparse_csr_tensor
from .products import addmm, masked_matmul, matmul, mv, pca_lowrank
from .rearrange import is_same_shape, mask_as, reshape, slice, sum, transpose
from .unary import (abs, asin, asinh, atan, atanh, cast, deg2rad, expm1, isnan, log1p, neg, pow, rad2deg, sin, sinh,
                    sqrt,
                    square, tan, tanh)

__all__ = ["sparse_coo_tensor", "sparse_csr_tensor", "sin", "tan", "asin", "atan", "sinh", "tanh", "asinh", "atanh",
           "sqrt",
           "square", "log1p", "abs", "pow", "pca_lowrank", "cast", "neg", "deg2rad", "rad2deg", "expm1", "mv", "matmul",
           "mask_as", "masked_matmul", "addmm", "add", "subtract", "transpose", "sum", "multiply", "divide", "coalesce",
           "is_same_shape", "reshape", "isnan", "slice"]
