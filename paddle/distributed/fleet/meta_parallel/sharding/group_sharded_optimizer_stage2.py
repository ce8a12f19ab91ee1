"""Optimizers of which each process keeps a part."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .....engine import errors
from .....engine.modes import modes
from .....engine.tensor import Tensor, _make
from .....nn.clip import ClipGradByGlobalNorm, ClipGradByNorm, _squares
from .....optimizer.lr import LRScheduler
from .....optimizer.optimizer import Optimizer
from .....optimizer.packs import is_custom
from ....communication import objects
from ....communication.group import Group, group_of
from ....communication.mesh import over_mesh
from .buckets import Bucket, Unit, sort_into_buckets
from .exchange import Exchange

_WHOLE = ("Lamb", "LarsMomentum")  # rules that look at whole parameters


class ShardedSteps:
    """What an optimizer does differently when it is sharded; mixed into its class by `shard_optimizer`.

    The optimizer trains the shards in place of the parameters, so that its state exists for this process's part only. Norms
    and the search for infinite gradients look at the parts of all processes.
    """

    _exchange: Exchange
    _params: list[Tensor]
    _shards: list[Tensor]
    _offload = False
    _shown: list[Tensor] | None = None
    _group: Group
    _norm_groups: tuple[
        tuple[Group, bool], ...
    ] = ()  # further ones that have other parameters; True: of divided ones only

    @property
    def _optim(self) -> ShardedSteps:
        return self

    @property
    def offload(self) -> bool:
        """Whether the state rests in the host's memory."""
        return self._offload

    @property
    def local_params(self) -> list[Tensor]:
        """The parameters."""
        return self._params

    @property
    def _parameter_list(self) -> list[Tensor]:
        return self._params if self._shown is None else self._shown

    @_parameter_list.setter
    def _parameter_list(self, parameters: Any) -> None:
        raise errors.NotImplemented_("sharding: other parameters for an optimizer that is sharded")

    @contextlib.contextmanager
    def _on_shards(self) -> Iterator[None]:
        """Within it the optimizer's parameters are the shards."""
        self._shown = self._shards
        try:
            yield
        finally:
            self._shown = None

    # ---- the step ----
    def _with_gradients(self) -> list[tuple[Tensor, Tensor]]:
        if modes.program is not None:
            raise errors.NotImplemented_("sharding: the step of a sharded optimizer inside of to_static")
        self._exchange.complete()
        for p in self._frozen:
            if not p._stop and p._grad is not None:
                raise errors.NotImplemented_(
                    f"sharding: parameter {p.name} was not trainable when the optimizer was sharded, but has a gradient now"
                )
        return [
            (shard, shard._grad)
            for bucket in self._exchange.buckets
            for shard, number in zip(bucket.shards, bucket.sources)
            if shard._grad is not None and not bucket.params[number]._stop
        ]

    def clear_grad(self, set_to_zero: bool = True) -> None:
        """Zero the gradients of the parameters, or drop them with ``set_to_zero=False``."""
        self._exchange.clear(set_to_zero)
        for p in self._frozen:
            p.clear_gradient(set_to_zero)
        if modes.capturing is not None:
            modes.capturing.settle()

    clear_gradients = clear_grad

    def backward(self, loss, startup_program=None, parameters=None, no_grad_set=None, callbacks=None):
        """The shards that have a gradient, with their gradients; `loss.backward()` has computed them."""
        if no_grad_set or parameters is not None and not {id(p) for p in parameters} >= {id(p) for p in self._params}:
            raise errors.NotImplemented_("sharding: a step of some of the parameters")
        return self._with_gradients()

    def _clips(self) -> list:
        """The rules for the step of this process: not those by the norm of everything, which ask the other processes."""
        return [None if isinstance(c, ClipGradByGlobalNorm) else c for c in super()._clips()]  # type: ignore[misc]

    def _apply(self, pairs: list[tuple[Tensor, Tensor]], inverse_scale: Any = None) -> Any:
        known = {id(s) for s in self._shards}
        if any(id(p) not in known for p, _ in pairs):
            raise errors.NotImplemented_("sharding: a step with other gradients than those of backward()")
        skip, bad = self._look_at_all(pairs, inverse_scale)
        buckets = self._exchange.buckets
        for bucket in buckets:
            bucket.take()
        if self._offload:
            self._move("device")
        if pairs:
            super()._apply(pairs, skip)  # type: ignore[misc]
        else:  # a clipping rule that asks the other processes takes part here too
            self._clip_by_hand([])  # type: ignore[attr-defined]
        if self._offload:
            self._move("pinned_host")
        for bucket in buckets:
            bucket.spread()
        return bad

    def _look_at_all(self, pairs: list, inverse_scale: Any) -> tuple:
        """Unscale the gradients and clip them by norms over all processes. Returns what the step is to multiply them by (NaN
        where nothing is to change), and whether a gradient of any process is infinite or NaN; None, None without scale."""
        rules = super()._clips()  # type: ignore[misc]
        chosen, limits = [], []
        for number, rule in enumerate(rules):
            if isinstance(rule, ClipGradByGlobalNorm):
                inside = (
                    self._group_of.get(id(p), 0) == number and getattr(p, "need_clip", True)  # type: ignore[attr-defined]
                    for p, _ in pairs
                )
                chosen.append(tuple(i for i, is_inside in enumerate(inside) if is_inside))
                limits.append(rule.clip_norm)
        if not chosen and inverse_scale is None:
            return None, None
        arrays = [g._value for _, g in pairs]
        inverse = None if inverse_scale is None else inverse_scale._value
        (sums,) = over_mesh(self._group, "all_reduce", [_measure(arrays, inverse, tuple(chosen))], "sum")
        arrays = _limit(arrays, inverse, sums, np.array(limits, np.float32), tuple(chosen))
        for (_, g), array in zip(pairs, arrays):
            g._storage.write(array)
        if inverse is None:
            return None, None
        skip, bad = _judge(sums, inverse)
        return _make(skip), _make(bad)

    def _move(self, kind: str) -> None:
        """Put the state into another memory, where the device has it."""
        for pack in self._packs:
            for name, array in pack.states.items():
                sharding = getattr(array, "sharding", None)
                kinds = {m.kind for m in next(iter(array.devices())).addressable_memories()} if sharding else ()
                if kind in kinds and "device" in kinds and sharding.memory_kind != kind:
                    pack.states[name] = jax.device_put(array, sharding.with_memory_kind(kind))

    # ---- state ----
    def state_dict(self) -> dict[str, Any]:
        """The state of the whole parameters, as an ordinary optimizer gives it. All processes have to call it."""
        state: dict[str, Any] = {}
        masters: dict[str, Tensor] = {}
        entries: dict[int, dict[str, Tensor]] = {}
        for bucket in self._exchange.buckets:
            entries.update(zip(map(id, bucket.params), self._whole_states(bucket)))
        for p in self._params:
            entry = entries.get(id(p), {})
            middle = "_fp32_master_0" if "master" in entry else ""
            for name, value in entry.items():
                if name == "master":
                    masters[p.name] = value
                else:
                    state[f"{p.name}{middle}_{name}_0"] = value
        if masters:
            state["master_weights"] = masters
        if isinstance(self._learning_rate, LRScheduler):  # type: ignore[attr-defined]
            state["LR_Scheduler"] = self._learning_rate.state_dict()  # type: ignore[attr-defined]
        return state

    def _whole_states(self, bucket: Bucket) -> list[dict[str, Tensor]]:
        """The states of the parameters of a bucket, from the parts of all processes."""
        mine = [
            (piece, {name: np.asarray(t._value) for name, t in self._states_of(shard).items()})  # type: ignore[attr-defined]
            for shard, piece in zip(bucket.shards, bucket.pieces)
        ]
        parts: list[dict[str, list]] = [{} for _ in bucket.params]
        for (number, start, _), states in sum(objects.exchange(mine, bucket.group, "state_dict"), []):
            for name, array in states.items():
                parts[number].setdefault(name, []).append((start, array))
        numbers = self._scalars if self._scalar_shape is not None else ()  # type: ignore[attr-defined]
        whole: list[dict[str, Tensor]] = []
        for shape, entry in zip(bucket.layout.shapes, parts):
            whole.append({})
            for name, found in entry.items():
                arrays = [array for _, array in sorted(found, key=lambda f: f[0])]
                joined = arrays[0]
                if name not in numbers:
                    joined = np.concatenate(arrays, -1)
                    joined = joined.reshape((*joined.shape[:-1], *shape))
                whole[-1][name] = _make(jnp.asarray(joined))
        return whole

    def set_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take this process's part of the state of the whole parameters."""
        if not isinstance(state_dict, dict):
            raise errors.TypeError_(
                f"{type(self).__name__}.set_state_dict: state_dict must be a dict, got {errors.describe(state_dict)}"
            )
        rest = dict(state_dict)
        masters = rest.pop("master_weights", None) or {}
        kinds = (*self._states, *self._scalars)  # type: ignore[attr-defined]
        found: dict[str, Any] = {"master_weights": {}}
        for name in ("LR_Scheduler",):
            if name in rest:
                found[name] = rest.pop(name)
        sliced = {p.name: (p, piece) for b in self._exchange.buckets for p, piece in _pieces(b)}
        for key, value in rest.items():
            for kind in kinds:
                head, _, tail = str(key).rpartition(f"_{kind}_")
                name = head.split("_fp32_master_")[0]
                if tail.isdecimal() and name in sliced:
                    found[key] = _part(value, *sliced[name])
        for name, value in masters.items():
            if name in sliced:
                found["master_weights"][name] = _part(value, *sliced[name])
        for bucket in self._exchange.buckets:
            bucket.take()
        if self._shards:
            with self._on_shards():
                super().set_state_dict(found)  # type: ignore[misc]
        for bucket in self._exchange.buckets:
            bucket.forget()

    load_state_dict = set_state_dict
    set_dict = set_state_dict


def _pieces(bucket: Bucket) -> list:
    return [(bucket.params[number], (start, stop)) for number, start, stop in bucket.pieces]


def _part(value: Any, p: Tensor, piece: tuple[int, int]) -> Any:
    """The slice of a state of a parameter; what is no state of every element stays."""
    array = np.asarray(value._value if isinstance(value, Tensor) else value)
    shape = tuple(p._raw.shape)
    if array.size == 1 and array.shape != shape or array.shape[array.ndim - len(shape) :] != shape:
        return array
    lead = array.shape[: array.ndim - len(shape)]
    return array.reshape((*lead, -1))[..., piece[0] : piece[1]]


@functools.partial(jax.jit, static_argnums=2)
def _measure(arrays: list, inverse: Any, chosen: tuple) -> Any:
    """How many arrays are not finite, and for each rule the sum of the squares of its arrays."""
    wide = [a.astype(jnp.promote_types(a.dtype, jnp.float32)) for a in arrays]
    scaled = wide if inverse is None else [a * inverse for a in wide]
    out = [sum([jnp.any(~jnp.isfinite(a)).astype(jnp.float32) for a in scaled], jnp.float32(0))]
    out += [sum([_squares(scaled[i]).astype(jnp.float32) for i in group], jnp.float32(0)) for group in chosen]
    return jnp.stack(out)


@functools.partial(jax.jit, static_argnums=4)
def _limit(arrays: list, inverse: Any, sums: Any, limits: Any, chosen: tuple) -> list:
    """The arrays times `inverse`, scaled where the norm of all that belong to a rule is above its limit."""
    factors: list[Any] = [inverse] * len(arrays)
    for k, group in enumerate(chosen):
        norm, limit = jnp.sqrt(sums[1 + k]), limits[k]
        scale = jnp.where(norm > limit, limit / jnp.maximum(norm, limit), jnp.where(norm <= limit, 1.0, norm))
        for i in group:
            factors[i] = scale if factors[i] is None else factors[i] * scale
    return [a if f is None else (a * f).astype(a.dtype) for a, f in zip(arrays, factors)]


@jax.jit
def _judge(sums: Any, inverse: Any) -> tuple:
    bad = (sums[0] > 0) | ~jnp.isfinite(inverse)
    return jnp.where(bad, jnp.nan, jnp.ones_like(inverse)), bad


@functools.cache
def _sharded_class(front: type, kind: type) -> type:
    return type(kind.__name__, (front, kind), {"__module__": kind.__module__, "__doc__": kind.__doc__})


def shard_optimizer(
    optimizer: Any,
    front: type,
    function: str,
    group: Group | None = None,
    copies: Group | None = None,
    units: list[list[Tensor]] = [],
    limit: int = 2**23,
    offload: bool = False,
    agree: bool = True,
) -> Any:
    """Make an optimizer train only this process's part of its parameters.

    Args:
        optimizer: an Optimizer, whose class becomes one of `front` and its own.
        front: ShardedSteps, or a class of it.
        function: the name for errors.
        group: the processes over which everything is divided.
        copies: the processes with the same part and other data.
        units: lists of parameters of which only the part of this process is to be kept.
        limit: the most elements of the buckets of the others.
        offload: let the state rest in the host's memory.
        agree: begin with the values of the first process.
    """
    if not isinstance(optimizer, Optimizer):
        raise errors.TypeError_(f"{function}: optimizer must be an Optimizer, got {errors.describe(optimizer)}")
    if isinstance(optimizer, ShardedSteps):
        raise errors.ValueError_(f"{function}: the optimizer is sharded already")
    kind = type(optimizer)
    if not hasattr(kind, "_update") or kind.step is not Optimizer.step:
        raise errors.NotImplemented_(f"{function}: sharding of {kind.__name__}")
    if any(is_custom(c) and type(c).__name__ != "HybridParallelClipGrad" for c in optimizer._clips()):
        raise errors.NotImplemented_(f"{function}: sharding with a clipping rule of the user's own")
    group = group_of(group, function)
    if group.rank < 0:
        raise errors.ValueError_(f"{function}: this process is not a member of the group {group}")
    given = list({id(p): p for p in optimizer._parameter_list}.values())
    params = [p for p in given if not p._stop]
    if not params:
        raise errors.ValueError_(f"{function}: the optimizer has no parameter to train")
    before = optimizer.state_dict() if optimizer._packs or optimizer._loose else None
    whole = kind.__name__ in _WHOLE or any(isinstance(c, ClipGradByNorm) for c in optimizer._clips())
    inside = {id(p) for unit in units for p in unit}
    rest = [p for p in params if id(p) not in inside]
    shared = sort_into_buckets([p for p in rest if not getattr(p, "no_sync", False)], limit)
    single = sort_into_buckets([p for p in rest if getattr(p, "no_sync", False)], limit)
    own = Group(0, -1, [group.ranks[group.rank]])
    buckets: list[Bucket] = [Unit(unit, group, copies, whole) for unit in units]
    buckets += [Bucket(bucket, group, copies, whole) for bucket in shared]
    buckets += [Bucket(bucket, own, None, whole) for bucket in single]  # each process's own, as experts are
    if agree:
        for bucket in buckets:
            bucket.agree()
    shards = [s for b in buckets for s in b.shards]
    numbers = {id(p): optimizer._group_of[id(p)] for p in params if id(p) in optimizer._group_of}
    for bucket in buckets:
        for shard, number in zip(bucket.shards, bucket.sources):
            if id(bucket.params[number]) in numbers:
                optimizer._group_of[id(shard)] = numbers[id(bucket.params[number])]
    optimizer._packs, optimizer._homes, optimizer._plans = [], {}, {}
    optimizer._rows, optimizer._loose, optimizer._given = None, {}, shards
    optimizer._params, optimizer._shards = given, shards
    optimizer._frozen = [p for p in given if p._stop]
    optimizer._group, optimizer._offload, optimizer._exchange = group, bool(offload), Exchange(buckets)
    optimizer.__class__ = _sharded_class(front, kind)
    for bucket in buckets:
        if isinstance(bucket, Unit):
            bucket.divide()
        else:
            bucket.forget()
    if before:
        optimizer.set_state_dict(before)
    return optimizer


class GroupShardedOptimizerStage2(ShardedSteps):
    """Divide an optimizer over the processes of a group: each keeps the state of its part of the parameters, steps there,
    and gives the others the new values. The optimizer itself becomes one; it is also what the call returns.

    Args:
        params: the parameters; those of `optim`.
        optim: an Optimizer whose rule works on elements (Lamb, which looks at whole parameters, divides by parameters).
        group: the processes, by default all.
        offload: let the state rest in the host's memory, on devices that have one of their own.
        device: for the official interface.
        pretrain_sync_models: begin with the values of the first process.
        dp_group: processes with the same part and other data.

    Example:
        >>> from paddle.distributed.fleet.meta_parallel.sharding.group_sharded_optimizer_stage2 import (
        ...     GroupShardedOptimizerStage2)
        >>> net = paddle.nn.Linear(2, 1)
        >>> adam = paddle.optimizer.Adam(parameters=net.parameters())
        >>> adam = GroupShardedOptimizerStage2(net.parameters(), adam)  # doctest: +SKIP
    """

    def __new__(
        cls,
        params: Any = None,
        optim: Any = None,
        group: Group | None = None,
        offload: bool = False,
        device: str = "gpu",
        pretrain_sync_models: bool = True,
        dp_group: Group | None = None,
        **kw: Any,
    ) -> Any:
        if optim is None:  # a copy is made
            return object.__new__(cls)
        return shard_optimizer(
            optim, cls, cls.__name__, group, dp_group, offload=offload, agree=pretrain_sync_models, **kw
        )

    def __init__(self, *args: Any, **kwargs: Any):
        """The optimizer was made before."""
