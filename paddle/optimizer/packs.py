"""Which parameters of an optimizer step together: packs, made when parameters first step and split when only a part of one
does."""

from __future__ import annotations

import functools
import weakref
from typing import Any

import jax
import numpy as np

from ..engine import errors
from ..engine.tensor import Tensor
from ..engine.value import ABSTRACT
from ..nn.clip import ClipGradBase
from ..regularizer import WeightDecayRegularizer
from .multi_tensor import Kind, Pack, Plan, is_small

__all__ = ["Packs"]


class Packs:
    """The packs of an optimizer, see `multi_tensor`."""

    _packs: list[Pack]
    _homes: dict[int, tuple[Pack, int, Any]]  # of a parameter's id: pack, position, weak reference
    _plans: dict[tuple, Plan]
    _loose: dict[int, tuple[Any, dict]]  # states of parameters without a pack, by id: weak reference, states
    _rows: Any  # the scalars of all packs
    _states: Any
    _scalars: Any
    _hyper: Any
    _options: Any
    _per_parameter: Any
    _groups: list[dict]
    _group_of: dict[int, int]
    _multi_precision: bool
    regularization: Any
    _signature: Any
    _clips: Any
    _state_sharding: Any = None  # a function of a parameter: where its states lie, None for where it lies

    def _initial_state(self, name: str, shape: tuple, dtype: Any) -> np.ndarray:
        """A state before the first step; may have further axes in front of those of the parameter."""
        return np.zeros(shape, dtype)

    def _initial_scalars(self, group: dict) -> tuple[float, ...]:
        return (0.0,) * len(self._scalars)

    def _parameter_numbers(self, p: Tensor, group: dict) -> tuple[float, ...]:
        return ()

    def _decay_of(self, p: Tensor, group: dict) -> Any:
        own = p.__dict__.get("regularizer")
        return own if own is not None else group["regularization"] if "regularization" in group else self.regularization

    def _kind(self, p: Tensor, gradient: Tensor | None = None) -> Kind:
        number = self._group_of.get(id(p), 0)
        group = self._groups[number]
        value = p._value
        decay = self._decay_of(p, group)
        if decay is not None and not (isinstance(decay, WeightDecayRegularizer) and decay.kind):
            raise errors.TypeError_(
                f"{type(self).__name__}: a regularizer must be L1Decay or L2Decay, got {errors.describe(decay)}"
            )
        if not p.dtype.is_differentiable:
            raise errors.TypeError_(
                f"{type(self).__name__}: parameter {p.name} has dtype {p.dtype.name}, which is not trainable"
            )
        sharding = None if isinstance(value, ABSTRACT) else value.sharding
        home = None if self._state_sharding is None else self._state_sharding(p)
        _, rate, _, need_clip, _, by_rows = self._signature(p, gradient)
        return Kind(
            number,
            float(rate),
            None if decay is None else (decay.kind, decay._coeff),
            bool(need_clip),
            self._parameter_numbers(p, group),
            np.dtype(value.dtype),
            self._multi_precision and value.dtype.itemsize == 2,
            None if isinstance(sharding, jax.sharding.SingleDeviceSharding) else sharding,
            (),
            by_rows,
            None if by_rows or home == sharding else home,
        )

    def _plan(self, pairs: list[tuple[Tensor, Tensor]]) -> Plan:
        """Sort the parameters of a step into packs: those that exist are kept, or split where only a part steps now."""
        params = [p for p, _ in pairs]
        kinds = {id(p): self._kind(p, g) for p, g in pairs}
        for pack in {id(h[0]): h[0] for p in params if (h := self._homes.get(id(p)))}.values():
            alive = [ref() for ref in pack.members]
            if any(q is None or kinds.get(id(q)) != pack.kind._replace(scalars=()) for q in alive):
                self._dissolve(pack)
        self._settle([p for p in params if id(p) not in self._homes], kinds)
        packs = sorted({self._homes[id(p)][0] for p in params}, key=lambda pack: pack.row)
        position = {id(p): i for i, p in enumerate(params)}
        order = [position[id(ref())] for pack in packs for ref in pack.members]
        numbers = ("lr", *self._hyper, *self._per_parameter, "decay")
        options = tuple((name, getattr(self, "_" + name)) for name in self._options)
        clips = [None if is_custom(c) else c for c in self._clips()]
        return Plan(packs, order, type(self), options, self._states, self._scalars, numbers, clips)

    def _dissolve(self, pack: Pack) -> None:
        """Give the states of a pack back to its parameters; those that step alike form new packs, the others as well."""
        self._packs.remove(pack)
        self._plans.clear()
        scalars = self._scalars_of(pack)
        rest = []
        for index, ref in enumerate(pack.members):
            p = ref()
            if p is None:
                continue
            del self._homes[id(p)]
            self._loose_of(p).update({name: pack.state(name, index) for name in pack.states}, **scalars)
            rest.append(p)

    def _loose_of(self, p: Tensor) -> dict:
        found = self._loose.get(id(p))
        if found is None or found[0]() is not p:
            found = self._loose[id(p)] = (weakref.ref(p), {})
        return found[1]

    def _scalars_of(self, pack: Pack) -> dict[str, float]:
        if not self._scalars:
            return {}
        return dict(zip(self._scalars, np.asarray(self._rows)[pack.row].tolist()))

    def _settle(self, params: list[Tensor], kinds: dict[int, Kind]) -> None:
        """Make packs for parameters that have none."""
        together: dict[Any, list[Tensor]] = {}
        for p in params:
            kind, entry = kinds[id(p)], self._loose_of(p)
            initial = self._initial_scalars(self._groups[kind.group])
            kind = kind._replace(scalars=tuple(entry.get(name, value) for name, value in zip(self._scalars, initial)))
            small = is_small(tuple(p._raw.shape), kind.sharding) and not kind.by_rows
            together.setdefault((kind, None if small else id(p)), []).append(p)
        for (kind, single), members in together.items():
            self._add_pack(members, kind, single is not None)

    def _add_pack(self, params: list[Tensor], kind: Kind, single: bool) -> None:
        shapes = [tuple(p._raw.shape) for p in params]
        dtype = kind.compute_dtype
        entries = [self._loose_of(p) for p in params]
        where = params[0]._value.sharding if getattr(params[0]._value, "committed", False) else None
        where = kind.home or where
        states = {}
        for name in self._states + (("master",) if kind.master else ()):
            parts = []
            for p, shape, entry in zip(params, shapes, entries):
                part = entry.get(name)
                if part is None:
                    part = p._value.astype(dtype) if name == "master" else self._initial_state(name, shape, dtype)
                parts.append(part if single else part.reshape(part.shape[: part.ndim - len(shape)] + (-1,)))
            whole = parts[0] if single else _concatenate(parts)
            states[name] = jax.device_put(
                whole.astype(dtype), where if not single or whole.shape == shapes[0] else None
            )
        for p in params:
            del self._loose[id(p)]
        row = max((pack.row for pack in self._packs), default=-1) + 1
        members = [weakref.ref(p, functools.partial(_forget, self._homes, self._plans, id(p))) for p in params]
        device = next(iter(where.device_set)) if isinstance(where, jax.sharding.SingleDeviceSharding) else None
        pack = Pack(members, shapes, kind, states, row, single, device)
        self._packs.append(pack)
        for index, (p, ref) in enumerate(zip(params, members)):
            self._homes[id(p)] = (pack, index, ref)
        if self._scalars:
            wide = (
                np.float64
                if dtype == np.float64 or self._rows is not None and self._rows.dtype == np.float64
                else np.float32
            )
            rows = np.zeros((row + 1, len(self._scalars)), wide)
            if self._rows is not None:
                n = min(row, len(self._rows))
                rows[:n] = np.asarray(self._rows)[:n]
            rows[row] = kind.scalars
            everywhere = None
            if isinstance(where, jax.sharding.NamedSharding):  # as the step gives them back
                everywhere = jax.sharding.NamedSharding(where.mesh, jax.sharding.PartitionSpec())
            self._rows = jax.device_put(rows, everywhere)


def is_custom(clip: Any) -> bool:
    """Whether a clipping rule is the user's own: no function on arrays."""
    return clip is not None and type(clip).__call__ is not ClipGradBase.__call__


def _forget(homes: dict, plans: dict, key: int, ref: Any) -> None:
    """A parameter has died: its id may be given to another one."""
    if key in homes and homes[key][2] is ref:
        del homes[key]
        plans.clear()


def _concatenate(parts: list) -> Any:
    """Along the last axis; on the host where all parts are new."""
    if all(isinstance(part, np.ndarray) for part in parts):
        return np.concatenate(parts, axis=-1)
    return jax.numpy.concatenate(parts, axis=-1)
