"""Functional transforms: vjp and jvp of functions, their Jacobians and Hessians."""

from .functional import Hessian, Jacobian, forward_grad, grad, jvp, vjp
from .primitive import disable_prim, enable_prim, prim2orig, prim_enabled

__all__ = [
    "Hessian",
    "Jacobian",
    "disable_prim",
    "enable_prim",
    "forward_grad",
    "grad",
    "jvp",
    "prim2orig",
    "prim_enabled",
    "vjp",
]
