"""Lengths that stay open while a program is exported: they are symbols (`jax.export`), and small integers that follow from
shapes are NumPy arrays of expressions of them, computed while tracing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..engine.value import Dim, Value
from .program import Operator, leaves

__all__ = ["as_array", "is_open", "lengths_of"]


def is_open(operator: Operator, arrays: list, environment: Any) -> bool:
    """Whether the results of an operator whose elements follow from shapes are not plain numbers here."""
    if operator.open:
        for leaf in (x for k in operator.key for x in leaves(k)):
            if isinstance(leaf, Dim):
                if not isinstance(leaf.evaluate(environment.lengths), int):
                    return True
            elif _is_unknown(environment.arrays[leaf.value]):
                return True
    if operator.kernel.shape_only:
        return any(not isinstance(n, int) for a in arrays for n in getattr(a, "shape", ()))
    return any(map(_is_unknown, arrays))


def _is_unknown(array: Any) -> bool:
    return isinstance(array, jax.core.Tracer) or _has_expressions(array)


def _has_expressions(array: Any) -> bool:
    return isinstance(array, np.ndarray) and array.dtype == object


def as_array(array: Any, value: Any) -> Any:
    """What JAX computes with for the array of a value, also in place of expressions."""
    if not _has_expressions(array):
        return jnp.asarray(array)
    elements = [jnp.asarray(n, value.dtype) for n in array.flat]
    return jnp.stack(elements).reshape(array.shape) if elements else jnp.zeros(array.shape, value.dtype)


def lengths_of(operator: Operator, arrays: list, environment: Any) -> tuple | None:
    """The results of an operator as expressions of lengths, None when they are none."""
    try:
        return _lengths_of(operator, arrays, environment)
    except _NoLengths:
        return None


class _NoLengths(Exception):
    """A result is no expression of lengths: it is data."""


def _lengths_of(operator: Operator, arrays: list, environment: Any) -> tuple:
    if operator.kernel.shape_only:
        numbers = {"shape": lambda a: list(a.shape), "numel": lambda a: a.size}.get(operator.name)
        if numbers is None:
            raise _NoLengths
        return (_array(numbers(arrays[0])),)
    if any(isinstance(a, jax.core.Tracer) for a in arrays):
        raise _NoLengths
    entry = operator.entry(environment.read, environment.lengths)
    specs = [jax.ShapeDtypeStruct(x.trials[0], x.dtype) if isinstance(x, Value) else x for x in operator.inputs]
    try:
        with jax.ensure_compile_time_eval():
            closed = jax.make_jaxpr(entry.call)(*specs)
    except Exception:  # its shape depends on an open length, `arange(n)`; what is wrong shows when it is data
        raise _NoLengths from None
    return tuple(_interpret(closed.jaxpr, closed.consts, [_array(a) for a in arrays]))


def _array(numbers: Any) -> np.ndarray:
    """A NumPy array: of int64, or of objects where an expression is among the numbers."""
    if isinstance(numbers, (np.ndarray, jax.Array)):
        return np.asarray(numbers)
    flat = numbers if isinstance(numbers, list) else [numbers]
    if all(isinstance(n, (int, float, np.generic)) for n in flat):
        return np.asarray(numbers)
    made = np.empty(len(flat), object)
    made[:] = flat
    return made if isinstance(numbers, list) else made.reshape(())


def _interpret(jaxpr: Any, constants: Any, arrays: list[np.ndarray]) -> list[np.ndarray]:
    """A jaxpr on NumPy arrays of numbers and expressions."""
    known: dict[Any, np.ndarray] = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*map(np.asarray, constants), *arrays]))

    def read(atom: Any) -> np.ndarray:
        return np.asarray(atom.val) if hasattr(atom, "val") else known[atom]

    for equation in jaxpr.eqns:
        name, given = equation.primitive.name, [read(a) for a in equation.invars]
        inner = equation.params.get("jaxpr") or equation.params.get("call_jaxpr")
        called = _FUNCTIONS.get(equation.params.get("name", ""))
        if called is not None:
            outs = [called(*given)]
        elif inner is not None and name in ("jit", "pjit", "custom_jvp_call"):
            outs = _interpret(inner.jaxpr, inner.consts, given)
        else:
            rule = _RULES.get(name)
            if rule is None or any(v.aval.dtype.kind not in "iub" for v in equation.outvars):
                raise _NoLengths
            try:
                outs = [rule(*given, **equation.params)]
            except jax.errors.InconclusiveDimensionOperation:  # it holds for some lengths and not for others
                raise _NoLengths from None
        known.update(zip(equation.outvars, map(np.asarray, outs)))
    return [read(v) for v in jaxpr.outvars]


def _slice(x: np.ndarray, *, start_indices: Any, limit_indices: Any, strides: Any, **_: Any) -> np.ndarray:
    return x[tuple(map(slice, start_indices, limit_indices, strides or (1,) * x.ndim))]


def _broadcast(x: np.ndarray, *, shape: tuple, broadcast_dimensions: tuple, **_: Any) -> np.ndarray:
    full = [1] * len(shape)
    for length, axis in zip(x.shape, broadcast_dimensions):
        full[axis] = length
    return np.broadcast_to(x.reshape(full), shape)


def _dynamic_slice(x: np.ndarray, *starts: np.ndarray, slice_sizes: tuple, **_: Any) -> np.ndarray:
    first = [min(max(int(s), 0), n - size) for s, n, size in zip(starts, x.shape, slice_sizes)]
    return x[tuple(slice(s, s + size) for s, size in zip(first, slice_sizes))]


def _select(which: np.ndarray, *cases: np.ndarray, **_: Any) -> np.ndarray:
    return np.choose(which.astype(np.int64), cases)


def _compared(function: Callable) -> Callable:
    return lambda *arrays, **_: function(*arrays).astype(bool)


def _each(function: Callable) -> Callable:
    return lambda *arrays, **_: function(*arrays)


def _over(function: Callable) -> Callable:
    return lambda x, *, axes, **_: function(x, axis=tuple(axes))


_largest = np.frompyfunc(jax.core.max_dim, 2, 1)
_least = np.frompyfunc(jax.core.min_dim, 2, 1)

_FUNCTIONS: dict[str, Callable] = {"floor_divide": np.floor_divide, "remainder": np.remainder}
_RULES: dict[str, Callable] = {
    "slice": _slice,
    "broadcast_in_dim": _broadcast,
    "squeeze": lambda x, *, dimensions, **_: np.squeeze(x, tuple(dimensions)),
    "expand_dims": lambda x, *, dimensions, **_: np.expand_dims(x, tuple(dimensions)),
    "reshape": lambda x, *, new_sizes, **_: x.reshape(new_sizes),
    "transpose": lambda x, *, permutation, **_: x.transpose(permutation),
    "rev": lambda x, *, dimensions, **_: np.flip(x, dimensions),
    "concatenate": lambda *arrays, dimension, **_: np.concatenate(arrays, dimension),
    "convert_element_type": _each(lambda x: x),
    "copy": _each(lambda x: x),
    "stop_gradient": _each(lambda x: x),
    "add": _each(np.add),
    "sub": _each(np.subtract),
    "mul": _each(np.multiply),
    "neg": _each(np.negative),
    "max": _each(_largest),
    "min": _each(_least),
    "lt": _compared(np.less),
    "le": _compared(np.less_equal),
    "gt": _compared(np.greater),
    "ge": _compared(np.greater_equal),
    "eq": _compared(np.equal),
    "ne": _compared(np.not_equal),
    "select_n": _select,
    "dynamic_slice": _dynamic_slice,
    "reduce_sum": _over(np.sum),
    "reduce_prod": _over(np.prod),
}
