"""The step of an optimizer inside a program: clipping and one update for each parameter become operators."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from ..engine import place as places
from ..engine.dtype import to_dtype
from ..engine.executable import Kernel
from ..engine.modes import set_mode
from ..engine.tensor import Tensor, _make
from ..nn.clip import _each
from ..ops.selection import where
from .multi_tensor import Spec, _updated
from .packs import is_custom

__all__ = ["add_step", "record_step"]


def add_step(recorder: Any, optimizer: Any, pairs: list[tuple[Tensor, Tensor]], skip: Tensor | None = None) -> None:
    """Append a step as a part of the program that only training runs; where `skip` is true it changes nothing."""
    from ..static.backward import training_part

    with recorder, set_mode(grad=False, amp=None), training_part(recorder):
        record_step(recorder, optimizer, pairs, skip)


def record_step(recorder: Any, optimizer: Any, pairs: list[tuple[Tensor, Tensor]], skip: Tensor | None = None) -> None:
    """Append a step of the optimizer on (parameter, gradient) pairs. The learning rate is asked for in each run; the
    states live in scopes under their official names."""
    pairs = _clipped(recorder, optimizer, [(p, g) for p, g in pairs if g is not None])
    rate = _learning_rate(recorder.graph, optimizer)
    for p, g in pairs:
        _record_update(recorder, optimizer, p, g, rate, skip)


def recorded_states(names: list[str]) -> dict[str, Tensor]:
    """The states of an optimizer in programs, from the scope; masters under "master_weights"."""
    from ..static.executor import global_scope

    found: dict[str, Any] = {}
    for name in names:
        variable = global_scope().find_var(name)
        if variable is None or variable.array is None:
            continue
        tensor = _make(variable.array)
        tensor._name = name
        if name.endswith("_fp32_master_0"):
            found.setdefault("master_weights", {})[name.removesuffix("_fp32_master_0")] = tensor
        else:
            found[name] = tensor
    return found


def set_recorded_states(names: list[str], state: dict[str, Any]) -> None:
    """Put states into the scope. ValueError for a shape that is not that of the variable."""
    from ..static.executor import global_scope

    masters = {f"{n}_fp32_master_0": v for n, v in (state.get("master_weights") or {}).items()}
    for name in names:
        value = state.get(name, masters.get(name))
        if value is not None:
            global_scope().var(name).set(value)


def _learning_rate(graph: Any, optimizer: Any) -> Tensor:
    variable = getattr(optimizer, "_rate_variable", None)
    if variable is not None:  # computed by the program itself
        return variable.reshape([]).astype("float32")
    name = f"learning_rate_{sum(n.startswith('learning_rate_') for n in graph.inputs)}"
    value = graph.add_input(name, [], np.float32)
    graph.provided[name] = optimizer.get_lr
    return _make(value)


def _clipped(recorder: Any, optimizer: Any, pairs: list) -> list:
    out = list(pairs)
    for number, clip in enumerate(optimizer._clips()):
        mine = [i for i, (p, _) in enumerate(pairs) if optimizer._group_of.get(id(p), 0) == number]
        if clip is None or not mine:
            continue
        if is_custom(clip):
            for i, pair in zip(mine, clip([pairs[i] for i in mine])):
                out[i] = pair
            continue
        mine = [i for i in mine if getattr(pairs[i][0], "need_clip", True)]
        if mine:
            kernel = _clip_kernel(type(clip), len(mine))
            clipped = recorder.record(kernel, (*clip._numbers(), *[pairs[i][1] for i in mine]))
            for i, g in zip(mine, clipped):
                out[i] = (pairs[i][0], g)
    return out


@functools.cache
def _clip_kernel(kind: type, n: int) -> Kernel:
    def clip(first, second, *grads):
        return tuple(kind._clip(list(grads), first, second, [_each] * n))  # type: ignore[attr-defined]

    return Kernel(clip, "clip_by_" + kind.__name__.removeprefix("ClipGradBy").lower(), ("scalar",) * (n + 2))


def _record_update(recorder: Any, optimizer: Any, p: Tensor, g: Tensor, rate: Tensor, skip: Tensor | None) -> None:
    number = optimizer._group_of.get(id(p), 0)
    group = optimizer._groups[number]
    kind = optimizer._kind(p)
    names = optimizer._states + (("master",) if kind.master else ())
    numbers = [*optimizer._hyper_of(group), *kind.numbers, kind.decay[1] if kind.decay else 0.0]
    dtype = to_dtype(kind.compute_dtype)
    shape = tuple(p._raw.shape)
    stem = f"{p.name}_fp32_master_0" if kind.master else p.name
    kept = {}
    for name in names:
        full_name = f"{p.name}_fp32_master_0" if name == "master" else f"{stem}_{name}_0"
        if name == "master":
            kept[name] = recorder.new_state_from(full_name, shape, dtype, p.name, lambda v: v.astype(dtype))
            continue
        first = functools.partial(_put, optimizer._initial_state(name, shape, dtype.numpy))
        kept[name] = recorder.new_state(full_name, _shape_of(optimizer, name, shape, dtype), dtype, first)
    for name, value in zip(optimizer._scalars, optimizer._initial_scalars(group)):
        first = functools.partial(_put, np.full((1,), value, dtype.numpy))
        kept[name] = recorder.new_state(f"{stem}_{name}_0", (1,), dtype, first)
    recorded = optimizer.__dict__.setdefault("_recorded", [])
    full_names = [f"{p.name}_fp32_master_0" if name == "master" else f"{stem}_{name}_0" for name in kept]
    recorded += [name for name in full_names if name not in recorded]
    options = tuple((name, getattr(optimizer, "_" + name)) for name in optimizer._options)
    spec = Spec(
        type(optimizer),
        options,
        optimizer._states,
        optimizer._scalars,
        ("lr", *optimizer._hyper, *optimizer._per_parameter, "decay"),
        (),
        (),
    )
    kernel = _update_kernel(spec, kind.decay[0] if kind.decay else None, kind.compute_dtype, kind.master)
    new = recorder.record(kernel, (p, g, rate, kind.rate, *numbers, *kept.values()))
    if skip is not None:
        new = [where(skip, old, n) for old, n in zip((p, *kept.values()), new)]
    p._storage.write(new[0]._value)
    for tensor, result in zip(kept.values(), new[1:]):
        tensor._storage.write(result._value)


def _shape_of(optimizer: Any, name: str, shape: tuple, dtype: Any) -> tuple:
    return shape if name == "master" else np.shape(optimizer._initial_state(name, shape, dtype.numpy))


def _put(array: Any) -> Any:
    return places.put(array, None)


@functools.lru_cache(maxsize=1024)
def _update_kernel(spec: Spec, decay: str | None, dtype: Any, master: bool) -> Kernel:
    """The update of one parameter: (parameter, gradient, rate, factor of the rate, numbers, states) -> new ones."""
    n = len(spec.numbers) - 1
    names = (*spec.states, *(("master",) if master else ()), *spec.scalars)
    pack = SimpleNamespace(decay=decay)

    def update(p, g, rate, factor, *rest):
        numbers = [rate * factor, *rest[:n]]
        states = dict(zip(names, rest[n:]))
        h = SimpleNamespace(
            **{name: x.astype(dtype) for name, x in zip(spec.numbers, numbers)},
            **dict(spec.options),
            each=_whole,
            by_rows=False,
        )
        old = {name: states[name].astype(dtype) for name in spec.states}
        fixed = {name: states[name].astype(dtype).reshape(()) for name in spec.scalars}
        start = states["master"] if master else p.astype(dtype)
        new_p, new = _updated(spec, pack, h, None, fixed, start, g.astype(dtype), old)  # type: ignore[arg-type]
        if master:
            new = {**new, "master": new_p}
        return (new_p.astype(p.dtype), *[new[name].astype(s.dtype).reshape(s.shape) for name, s in states.items()])

    name = spec.rule.type or spec.rule.__name__.lower()  # type: ignore[attr-defined]
    kernel = Kernel(update, name, ("scalar",) * (4 + n + len(names)), differentiable=False)
    return kernel


def _whole(fn: Callable, *arrays: Any) -> Any:
    return fn(*arrays)
