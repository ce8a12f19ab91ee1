"""The step of an optimizer inside of a function that `to_static` records.

The packs and plans are those of eager steps, so a function may step in both ways: the same computation is one operator of
the program, whose inputs and results are the arrays that the packs hold.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import jax.numpy as jnp
import numpy as np

from ..engine import errors
from ..engine.executable import Kernel
from ..engine.modes import set_mode
from ..engine.tensor import Tensor
from ..engine.value import Value
from .multi_tensor import Pack, Spec, _step

__all__ = ["record_step"]


def record_step(optimizer: Any, recorder: Any, pairs: list[tuple[Tensor, Tensor]], inverse_scale: Any) -> Tensor | None:
    """Append a step on pairs of parameter and gradient; returns whether a gradient was infinite or NaN."""
    _note(optimizer, recorder)
    if not pairs:
        return None
    if any(g.is_selected_rows() for _, g in pairs):
        raise errors.NoValue("step: row-sparse gradients from outside of the function")
    params = [p for p, _ in pairs]
    if optimizer._multi_precision and any(
        isinstance(p._value, Value) and id(p) not in optimizer._homes for p in params
    ):
        raise errors.NoValue("step: the first step of a 16-bit parameter that the function has changed")
    plan = optimizer._planned(pairs)
    bare: list = [(p, None) for p in params]
    recorder.condition((id(plan), "plan"), lambda: optimizer._plans.get(optimizer._plan_key(bare)))
    spec = plan.spec if inverse_scale is None else plan.scaled_spec
    chosen = [pairs[i] for i in plan.order]
    numbers = recorder.outside(
        (id(plan), "numbers", len(recorder.provided)), lambda: np.array(optimizer._numbers_of(plan), plan.dtype)
    )
    states = [_states(recorder, pack) for pack in plan.packs]
    flat = [s for pack in states for s in pack.values()]
    small, large = ([chosen[i][0] for i in places] for places in (plan.small, plan.large))
    inputs = [numbers, *(g for _, g in chosen), *small, *large, *flat]
    if spec.scalars:
        rows = recorder.outside(
            (id(optimizer), "rows"), lambda: optimizer._rows, functools.partial(setattr, optimizer, "_rows")
        )
        inputs.append(rows)
    # separate inputs: pieces of one size are cut out by one kernel then
    inputs += [recorder.outside((id(plan), "start", i), lambda s=s: s) for i, s in enumerate(plan.starts)]
    if inverse_scale is not None:
        inputs.append(inverse_scale)
    kernel = _kernel(spec, len(small), len(large), tuple(map(len, states)), len(plan.starts), inverse_scale is not None)
    with set_mode(grad=False, amp=None):
        found = iter(recorder.record(kernel, tuple(inputs)))
    for p, _ in chosen:
        recorder.overwrite(p, next(found))
    for tensor in flat:
        recorder.overwrite(tensor, next(found))
    if spec.scalars:
        recorder.overwrite(rows, next(found))
    written = [g for _, g in chosen] if inverse_scale is not None else [chosen[i][1] for i in plan.written]
    for g in written:
        recorder.overwrite(g, next(found))
    return next(found) if inverse_scale is not None else None


def _note(optimizer: Any, recorder: Any) -> None:
    """The program holds while the optimizer has these parameters."""
    recorder.condition((id(optimizer), "parameters"), lambda: [id(p) for p in optimizer._parameter_list if not p._stop])


def _states(recorder: Any, pack: Pack) -> dict[str, Tensor]:
    """What stands for the states of a pack."""
    return {
        name: recorder.outside(
            (id(pack), name),
            functools.partial(pack.states.__getitem__, name),
            functools.partial(pack.states.__setitem__, name),
        )
        for name in pack.states
    }


@functools.lru_cache(maxsize=512)
def _kernel(spec: Spec, small: int, large: int, states: tuple[int, ...], starts: int, scaled: bool) -> Kernel:
    """`multi_tensor._step` on arrays one after the other."""
    count = sum(pack.count for pack in spec.packs)
    n = 1 + count + small + large + sum(states) + bool(spec.scalars) + starts + scaled

    def step(*arrays: Any) -> tuple:
        source = iter(arrays)
        numbers, grads = next(source), _take(source, count)
        params = _take(source, small), _take(source, large)
        held = [_take(source, k) for k in states]
        scalars = next(source) if spec.scalars else None
        begins = _take(source, starts)
        inverse = next(source) if scaled else None
        new, held, scalars, written, bad = _step(spec, numbers, scalars, grads, *params, held, begins, inverse)
        out = [*new, *(s for pack in held for s in pack), *([scalars] if spec.scalars else []), *written]
        return tuple(out if bad is None else [*out, jnp.asarray(bad)])

    return Kernel(step, spec.rule.__name__.lower() + "_step", ("scalar",) * n, differentiable=False)


def _take(source: Iterator, n: int) -> list:
    return [next(source) for _ in range(n)]
