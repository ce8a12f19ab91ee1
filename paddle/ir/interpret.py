"""Running operators of a program one by one on tensors, on the tape: how gradients come through what cannot be compiled."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..engine import autograd
from ..engine.dispatch import _record
from ..engine.modes import modes, set_mode
from ..engine.tensor import Tensor, _make
from ..engine.value import Value
from .program import Operator, Pullback
from .record import HostKernel
from .run import Environment


class Tape(Environment):
    """An environment that holds tensors; what runs in it goes onto the tape."""

    def read(self, value: Value) -> Any:
        return np.asarray(self.arrays[value]._value).tolist()

    def lengths(self, value: Value) -> Any:
        return self.arrays[value]._raw.shape

    def run(self, operators: Iterable[Operator]) -> None:
        for operator in operators:
            self.define(operator, _run(operator, self))


def _run(operator: Operator, tape: Tape) -> Iterable[Tensor]:
    inputs = tape.inputs(operator)
    if isinstance(operator, Pullback):
        return _pull(operator, tape, inputs)
    kernel = operator.kernel
    if hasattr(kernel, "blocks") and kernel.on_host:
        return kernel.run_on_tape(operator, tape)
    entry = operator.entry(tape.read, tape.lengths)
    if isinstance(kernel, HostKernel):
        if not operator.outputs:  # its effect was the forward run's
            return ()
        out = kernel.fn(*entry.arguments(inputs))
        return out if isinstance(out, (tuple, list)) else (out,)
    arrays = [x._value if isinstance(x, Tensor) else x for x in inputs]
    live = sum(1 << i for i, x in enumerate(inputs) if isinstance(x, Tensor) and x._node is not None and not x._stop)
    if operator.tick is not None:
        arrays.insert(0, tape.tick(operator.tick))
        inputs = [None, *inputs]
        live <<= 1
    if live and modes.grad and kernel.differentiable:
        out = _record(kernel, entry, (None,), inputs, arrays, live, 0)
    else:
        out = entry.run(*arrays)
        out = tuple(map(_make, out)) if type(out) is tuple else _make(out)
    return out if type(out) is tuple else (out,)


def _pull(operator: Pullback, tape: Tape, inputs: list) -> list:
    """The gradients of an operator, which runs again for them."""
    forward = operator.forward
    n = len(forward.inputs)
    given = iter(inputs[len(operator.inputs) - sum(operator.present) :])
    starts = [_start(x, connected=modes.grad) if operator.mask >> i & 1 else x for i, x in enumerate(inputs[:n])]
    before, after = modes.grad, Tape(dict(tape.arrays), tape.words)
    after.arrays.update((v, s) for v, s in zip(forward.inputs, starts) if isinstance(v, Value))
    aliased = len({v for v in forward.inputs if isinstance(v, Value)}) < sum(
        isinstance(v, Value) for v in forward.inputs
    )
    call = forward
    if aliased:  # one value in several places: each has a gradient of its own
        fresh = [Value(v.name, v.trials, v.dtype) if isinstance(v, Value) else v for v in forward.inputs]
        after.arrays.update((v, s) for v, s in zip(fresh, starts) if isinstance(v, Value))
        call = forward.replaced(inputs=tuple(fresh))
    with set_mode(grad=True):
        outs = list(_run(call, after))
    pairs = [(o, next(given)) for o, p in zip(outs, operator.present) if p]
    pairs = [(o, c) for o, c in pairs if not o.stop_gradient]
    wanted = [starts[i] for i in operator.positions]
    if not pairs:
        return [_zeros(w) for w in wanted]
    found = autograd.grad([o for o, _ in pairs], wanted, [c for _, c in pairs], create_graph=before, allow_unused=True)
    return [_zeros(w) if g is None else g for g, w in zip(found, wanted)]


def _start(x: Tensor, connected: bool) -> Tensor:
    """A tensor of the same value that the tape can tell from others."""
    if connected and not x.stop_gradient:
        return x.clone()
    fresh = _make(x._value)
    fresh.stop_gradient = False
    return fresh


def _zeros(x: Tensor) -> Tensor:
    return _make(jnp.zeros(x._raw.shape, x._raw.dtype))


def pull_on_host(operator: Pullback, environment: Environment) -> list:
    """Run the gradient of an operator that cannot be compiled."""
    tape = Tape(
        {
            v: _make(a if isinstance(a, jax.Array) else jnp.asarray(a))
            for v, a in environment.arrays.items()
            if v in set(operator.reads())
        },
        environment.words,
    )
    with set_mode(program=None, amp=None, grad=False):
        return [t._value for t in _run(operator, tape)]
