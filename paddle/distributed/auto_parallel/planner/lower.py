"""The training step of a candidate, compiled for devices without anything being allocated."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from ....engine import errors
from ....engine.place import for_other_devices
from ....engine.value import Value
from ....optimizer.adam import adam_update
from ..hlo import Analysis, analyse
from ..repeated import Schedule
from .outline import Outline

NAMES = ("pp", "dp", "mp")


def specs_of(outline: Outline, value: Value, name: str, candidate: Any) -> tuple[tuple, tuple, tuple]:
    """How a parameter lies where it is used, where it is kept, and where its states are: one entry for each axis, those of
    stacked parameters without the one of the blocks."""
    shape = value.shape[1:] if name.startswith("*.") else value.shape
    use: list[Any] = [None] * len(shape)
    axis = outline.cuts(name, candidate.tp)
    if axis is not None:
        use[axis] = "mp"
    further = list(use)
    if candidate.dp > 1:
        order = sorted(range(len(shape)), key=lambda d: use[d] is not None)
        for d in order:
            if int(shape[d]) % (candidate.dp * (candidate.tp if use[d] else 1)) == 0:
                further[d] = ("mp", "dp") if use[d] else "dp"
                break
    kept = further if candidate.stage == 3 else use
    return tuple(use), tuple(kept), tuple(further if candidate.stage else use)


def compile_step(outline: Outline, candidate: Any, devices: list | None = None) -> Analysis:
    """What XLA makes of a step of Adam with the candidate's layout: forward, backward, update, in one executable.

    Args:
        devices: as many as the candidate needs, by default those of this process.

    Raises:
        ValueError: there are fewer.
    """
    devices = jax.devices() if devices is None else devices
    n = candidate.dp * candidate.tp * candidate.pp
    if len(devices) < n:
        raise errors.ValueError_(
            f"plan: the candidate needs {n} devices to be compiled for, this process has {len(devices)}; "
            f"XLA_FLAGS=--xla_force_host_platform_device_count={n} shows as many"
        )
    mesh = Mesh(np.array(devices[:n]).reshape(candidate.pp, candidate.dp, candidate.tp), NAMES)

    def sharding(*spec: Any) -> NamedSharding:
        return NamedSharding(mesh, PartitionSpec(*spec))

    names = {v: k for k, v in outline.weights.items()}
    trained = outline.trained_values()
    layouts = []
    for value in trained:
        name = names[value]
        lead = (("pp" if candidate.pp > 1 else None),) if name.startswith("*.") else ()
        layouts.append(tuple((*lead, *spec) for spec in specs_of(outline, value, name, candidate)))
    inner = [specs_of(outline, v, names[v], candidate) for v in outline.stacked.values()]
    outline.schedule = Schedule(
        checkpoint=candidate.recompute,
        stages=candidate.pp,
        micro=candidate.micro if candidate.pp > 1 else 1,
        mesh=mesh,
        specs=[kept for _, kept, _ in inner],
        use=[use for use, _, _ in inner] if candidate.stage == 3 else None,
        batch=("dp",) if candidate.dp > 1 else (),
    )
    rest = [v for v in outline.all_values() if v not in set(trained)]
    batched = {*outline.inputs, *outline.labels}

    def spec(value: Value, *where: Any, dtype: Any = None) -> jax.ShapeDtypeStruct:
        shape = outline.shape_of(value)
        return jax.ShapeDtypeStruct(shape, dtype or value.dtype, sharding=sharding(*where))

    params = [spec(v, *kept) for v, (_, kept, _) in zip(trained, layouts)]
    small = [v.dtype.itemsize < 4 for v in trained]
    states = [
        {k: spec(v, *home, dtype=np.float32) for k in ("moment1", "moment2", *(("master",) if s else ()))}
        for v, s, (_, _, home) in zip(trained, small, layouts)
    ]
    data = [spec(v, *(("dp",) if v in batched and candidate.dp > 1 and v.shape else ())) for v in rest]
    h = _Numbers()

    def step(params: list, states: list, powers: Any, data: list) -> Any:
        def loss_of(params: list, data: list) -> Any:
            return outline.loss(dict(zip((*trained, *rest), (*params, *data))))

        if candidate.pp == 1 and candidate.micro > 1:
            loss, grads = _accumulated(loss_of, params, data, [v in batched for v in rest], candidate.micro, lay)
        else:
            loss, grads = jax.value_and_grad(loss_of)(params, data)
        new_params, new_states = [], []
        for p, g, s, (_, kept, home) in zip(params, grads, states, layouts):
            g = jax.lax.with_sharding_constraint(g, sharding(*home)).astype(jnp.float32)
            start = s["master"] if "master" in s else jax.lax.with_sharding_constraint(p, sharding(*home))
            old = {**s, "beta1_pow_acc": powers[0], "beta2_pow_acc": powers[1]}
            new, found = adam_update(start, g, old, h, h.lr)
            state = {k: found[k] for k in ("moment1", "moment2")}
            if "master" in s:
                state["master"] = new
            new_states.append({k: jax.lax.with_sharding_constraint(x, sharding(*home)) for k, x in state.items()})
            new_params.append(jax.lax.with_sharding_constraint(new.astype(p.dtype), sharding(*kept)))
        return loss, new_params, new_states

    def lay(x: Any) -> Any:
        free = [PartitionSpec.UNCONSTRAINED] * (x.ndim - 1)
        return jax.lax.with_sharding_constraint(x, sharding("dp", *free)) if candidate.dp > 1 and x.ndim else x

    powers = jax.ShapeDtypeStruct((2,), np.float32, sharding=sharding())
    with for_other_devices():
        compiled = jax.jit(step, donate_argnums=(0, 1)).lower(params, states, powers, data).compile()
    return analyse(compiled, mesh)


def _accumulated(loss_of: Any, params: list, data: list, batched: list[bool], micro: int, lay: Any) -> tuple:
    """Loss and gradients over micro-batches, one after the other; every `micro`-th sample, so that none moves."""
    parts = [
        jnp.moveaxis(x.reshape(x.shape[0] // micro, micro, *x.shape[1:]), 1, 0) if b else x
        for x, b in zip(data, batched)
    ]

    def turn(carry: Any, i: Any) -> Any:
        total, grads = carry
        own = [lay(jax.lax.dynamic_index_in_dim(x, i, 0, False)) if b else x for x, b in zip(parts, batched)]
        loss, new = jax.value_and_grad(loss_of)(params, own)
        return (total + loss / micro, [g + n / micro for g, n in zip(grads, new)]), None

    start = jnp.float32(0), [jnp.zeros(p.shape, p.dtype) for p in params]
    return jax.lax.scan(turn, start, jnp.arange(micro))[0]


class _Numbers:
    beta1, beta2, epsilon, lr, amsgrad = 0.9, 0.95, 1e-8, 1e-4, False
