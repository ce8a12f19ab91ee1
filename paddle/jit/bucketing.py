"""Calls of static functions with tensors whose open lengths are padded to buckets (see `ir.buckets`)."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..engine.autograd import grad
from ..engine.modes import modes
from ..engine.tensor import Tensor, _make
from ..engine.value import Dim, Value
from ..ir.buckets import Buckets, Checked, cut, signature
from ..ops.expansion import pad as pad_tensor

__all__ = ["Bucketed"]


class Bucketed(Checked):
    """The buckets of a static function, and what is known about padding its calls."""

    def __init__(self, buckets: Buckets):
        super().__init__(buckets)
        self._shapes: dict[tuple, list] = {}

    def call(self, traced: Any, tensors: list[Tensor]) -> Any:
        """Run a traced program on padded tensors; its results are cut to the lengths that they would have had."""
        inputs = list(traced.graph.inputs.items())[: len(tensors)]
        if self.off or traced.run.on_host or len(inputs) < len(tensors):
            return traced(tensors)
        padded = [self._padded(name, value, t) for (name, value), t in zip(inputs, tensors)]
        if all(p is t for p, t in zip(padded, tensors)):
            return traced(tensors)
        key = (id(traced), *signature([t._value for t in padded]))
        if not self.allows(key, lambda: self._compared(traced, tensors, padded)):
            return traced(tensors)
        return traced(padded, functools.partial(self._cut, traced, tensors))

    def _padded(self, name: str, value: Value, tensor: Tensor) -> Tensor:
        shape = tensor._raw.shape
        after = [self.buckets.up(n) - n if isinstance(d, Dim) else 0 for n, d in zip(shape, value.shape)]
        if not any(after):
            return tensor
        if tensor._stop:
            return _make(jnp.asarray(self.buckets.padded(name, tensor._value, value)))
        widths = [w for n in after for w in (0, n)]
        return pad_tensor(tensor, widths, value=float(self.buckets.pad.get(name, 0)), pad_from_left_axis=True)

    def _true_shapes(self, traced: Any, tensors: list[Tensor]) -> list:
        key = (id(traced), *signature([t._value for t in tensors]))
        found = self._shapes.get(key)
        if found is None:
            arrays = [t._value for t in (*tensors, *map(traced._state, traced.states, traced.readers))]
            words = [np.zeros(4, np.uint32)] if traced.run.ticks else []
            specs = [jax.ShapeDtypeStruct(a.shape, a.dtype) for a in (*words, *arrays)]
            found = self._shapes[key] = [o.shape for o in jax.eval_shape(traced.run._run, *specs)]
        return found

    def _cut(self, traced: Any, tensors: list[Tensor], outs: list[Tensor]) -> list[Tensor]:
        return [_cut(o, s) for o, s in zip(outs, self._true_shapes(traced, tensors))]

    def _compared(self, traced: Any, tensors: list[Tensor], padded: list[Tensor]) -> list[tuple]:
        """Results and gradients of the states, without padding and with it."""
        if traced.run.ticks:  # other shapes draw other numbers
            return []
        states = [*map(traced._state, traced.states, traced.readers)]
        exact = with_gradients(lambda s: traced.run([*tensors, *s]), states)
        found = with_gradients(lambda s: self._cut(traced, tensors, traced.run([*padded, *s])), states)
        return [(np.asarray(a._value), np.asarray(b._value)) for a, b in zip(exact, found)]


def with_gradients(run: Callable, states: list[Tensor]) -> list[Tensor]:
    """The results of a run, and the gradients of their sum with respect to the states that want one."""
    leaves = [s.detach() for s in states]
    for leaf, state in zip(leaves, states):
        leaf.stop_gradient = state._stop or not modes.grad
    outs = run(leaves)
    wanted = [leaf for leaf in leaves if not leaf._stop]
    live = [o for o in outs if not o._stop]
    if not wanted or not live:
        return outs
    return outs + [g for g in grad(live, wanted, allow_unused=True) if g is not None]


def _cut(tensor: Tensor, shape: tuple) -> Tensor:
    if tuple(tensor._raw.shape) == tuple(shape):
        return tensor
    return _make(cut(tensor._value, shape)) if tensor._stop else tensor[tuple(slice(0, n) for n in shape)]
