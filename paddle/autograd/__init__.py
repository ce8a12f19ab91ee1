"""Differentiation: backward and grad, grad modes, custom layers, Jacobians and Hessians."""

from ..engine.autograd import backward, grad
from ..engine.modes import enable_grad, is_grad_enabled, no_grad, set_grad_enabled
from .functional import Hessian, Jacobian, hessian, jacobian
from .py_layer import EagerPyLayer, PyLayer, PyLayerContext
from .saved_tensors_hooks import saved_tensors_hooks

Function = PyLayer

__all__ = [
    "Function",
    "PyLayer",
    "PyLayerContext",
    "backward",
    "enable_grad",
    "grad",
    "hessian",
    "is_grad_enabled",
    "jacobian",
    "no_grad",
    "saved_tensors_hooks",
    "set_grad_enabled",
]
