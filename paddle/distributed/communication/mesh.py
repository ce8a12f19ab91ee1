"""Computations over the devices of a group: one compiled function for each kind of collective, shapes and types."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from ...engine import errors, flags
from ...engine.deferred import settled
from ...engine.meshed import in_turn
from ..processes import free_to_move
from . import watch
from .group import Group, meet

_AXIS = "ranks"


def over_mesh(group: Group, what: str, arrays: list, *details: Any) -> list:
    """Run a collective of `BODIES` on arrays that every member of the group gives; what it returns for this member.
    Nothing waits here: the results are arrays that are still being computed."""
    in_turn()
    world_mesh = group.mesh
    n = group.nranks
    sharding = _sharding(world_mesh)
    given, said = [], [d for d in details if isinstance(d, (str, int))]
    for array in map(settled, arrays):
        block = array if array.ndim else array.reshape(1)
        said.append(block.aval)
        shape = (n * block.shape[0], *block.shape[1:])
        given.append(jax.make_array_from_single_device_arrays(shape, sharding, [_at_home(block, group)]))
    if n == 1:
        return [free_to_move(f.addressable_data(0)) for f in _compiled(world_mesh, what, details)(*given)]
    with watch.inside(what):
        call = watch.begin(group, what, said)
        try:
            found = [free_to_move(f.addressable_data(0)) for f in _compiled(world_mesh, what, details)(*given)]
        except BaseException:
            watch.forget(call)
            raise
        call.came(found)
    return found


def _at_home(block: Any, group: Group) -> Any:
    home = group.mesh.devices.flat[group.rank]
    return block if block.devices() == {home} else jax.device_put(block, home)


@functools.cache
def _sharding(mesh: Mesh) -> NamedSharding:
    return NamedSharding(mesh, PartitionSpec(_AXIS))


@functools.cache
def _compiled(mesh: Mesh, what: str, details: tuple) -> Callable:
    spec = PartitionSpec(_AXIS)
    body = BODIES[what]

    def run(*blocks):
        out = body(blocks, mesh.size, *details)
        return tuple(out) if isinstance(out, (tuple, list)) else (out,)

    run.__name__ = run.__qualname__ = what
    return jax.jit(jax.shard_map(run, mesh=mesh, in_specs=spec, out_specs=spec, check_vma=False))


def reduce_local(values: Any, op: str) -> Any:
    """Combine along the first axis."""
    dtype = values.dtype
    if dtype == np.bool_:
        return values.any(0) if op in ("sum", "max") else values.all(0)
    if op == "avg":
        return average(values.sum(0, dtype=dtype), values.shape[0])
    if op in ("max", "min"):
        return getattr(jnp, op)(values, 0)
    return getattr(jnp, op)(values, 0, dtype=dtype)


def average(total: Any, n: int) -> Any:
    """A sum over `n` processes as the mean: integers are rounded down."""
    return total // n if jnp.issubdtype(total.dtype, jnp.integer) else total / jnp.asarray(n, total.dtype)


def reduced(block: Any, op: str, n: int, axis: str = _AXIS) -> Any:
    """The values of all members combined, inside of a collective."""
    if block.dtype == np.bool_:
        whole = block.astype(jnp.uint8)
        return (lax.pmax if op in ("sum", "max") else lax.pmin)(whole, axis).astype(bool)
    if op == "prod":
        return jnp.prod(lax.all_gather(block, axis), 0, dtype=block.dtype)
    if op in ("max", "min"):
        return (lax.pmax if op == "max" else lax.pmin)(block, axis)
    total = lax.psum(block, axis)
    return total if op == "sum" else average(total, n)


def _all_reduce(blocks: tuple, n: int, op: str) -> list:
    return [reduced(b, op, n) for b in blocks]


def _broadcast(blocks: tuple, n: int, source: int) -> list:
    """Bits, so that no value changes on the way."""
    here = lax.axis_index(_AXIS) == source

    def spread(b):
        if jnp.issubdtype(b.dtype, jnp.complexfloating):
            return lax.complex(spread(b.real), spread(b.imag))
        bits = jnp.dtype(f"uint{8 * b.dtype.itemsize}")
        raw = b.astype(bits) if b.dtype == np.bool_ else lax.bitcast_convert_type(b, bits)
        got = lax.psum(jnp.where(here, raw, jnp.zeros_like(raw)), _AXIS)
        return got.astype(bool) if b.dtype == np.bool_ else lax.bitcast_convert_type(got, b.dtype)

    return [spread(b) for b in blocks]


def _all_gather(blocks: tuple, n: int, apart: bool) -> Any:
    """The blocks of all members, one below the other or apart."""
    if apart:
        whole = lax.all_gather(blocks[0], _AXIS)
        return [whole[i] for i in range(n)]
    return lax.all_gather(blocks[0], _AXIS, tiled=True)


def _exchange(blocks: tuple, n: int, apart: bool) -> Any:
    """The part number r of each member's blocks for member r."""
    if not apart:
        return lax.all_to_all(blocks[0], _AXIS, 0, 0, tiled=True)
    got = lax.all_to_all(jnp.stack(blocks), _AXIS, 0, 0, tiled=True)
    return [got[i] for i in range(n)]


def _reduce_scatter(blocks: tuple, n: int, op: str) -> Any:
    """Part number r of the blocks combined, for member r."""
    whole = jnp.concatenate(blocks) if len(blocks) > 1 else blocks[0]
    if op in ("sum", "avg") and whole.dtype != np.bool_:
        total = lax.psum_scatter(whole, _AXIS, tiled=True)
        return total if op == "sum" else average(total, n)
    parts = whole.reshape(n, whole.shape[0] // n, *whole.shape[1:])
    return reduce_local(lax.all_to_all(parts, _AXIS, 0, 0, tiled=True), op)


def _scatter(blocks: tuple, n: int, source: int) -> Any:
    whole = jnp.stack(blocks) if len(blocks) > 1 else blocks[0].reshape(n, -1, *blocks[0].shape[1:])
    return lax.all_to_all(whole, _AXIS, 0, 0, tiled=True)[source]


def _mean_of_bucket(blocks: tuple, n: int) -> Any:
    """The means over all members of many arrays of one type, in one transfer."""
    flat = jnp.concatenate([b.reshape(-1) for b in blocks])
    mean = average(lax.psum(flat, _AXIS), n)
    sizes = np.cumsum([b.size for b in blocks])[:-1]
    return [part.reshape(b.shape) for part, b in zip(jnp.split(mean, sizes), blocks)]


BODIES: dict[str, Callable] = {
    "all_reduce": _all_reduce,
    "broadcast": _broadcast,
    "all_gather": _all_gather,
    "all_to_all": _exchange,
    "reduce_scatter": _reduce_scatter,
    "scatter": _scatter,
    "mean_of_bucket": _mean_of_bucket,
}


def check_agreement(group: Group, function: str, *said: Any) -> None:
    """With FLAGS_check_collectives: compare what all members call, with which shapes and types, before anything runs
    that would hang. The error names the ranks that differ from the others."""
    if not flags.flag("FLAGS_check_collectives") or group.nranks == 1:
        return
    own = f"{function}({', '.join(map(str, said))})"
    notes = meet(group, own, group.timeout, own)
    usual = max(notes, key=lambda note: (notes.count(note), -notes.index(note)))
    if any(note != usual for note in notes):
        others = "; ".join(f"rank {r} calls {note}" for r, note in zip(group.ranks, notes) if note != usual)
        raise errors.RuntimeError_(
            f"{function}: the processes do not agree. {others}; the other {notes.count(usual)} of {group.nranks} "
            f"(rank {', '.join(str(r) for r, note in zip(group.ranks, notes) if note == usual)}) call {usual}"
        )
