"""The compiled step: all parameters of an optimizer are updated by one executable.

Parameters that always step together and alike form a `Pack`. The states of small ones lie one after the other in one
array for each kind, because the number of arrays is what a call costs; a large parameter is a pack of its own. A `Plan`
is what one step does: its packs, the order of the arrays, and the executable. Executables are shared by all optimizers
that do the same (`Step`); whatever may change between steps is an input.
"""

from __future__ import annotations

import functools
import itertools
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..engine import errors
from ..engine.deferred import Deferred, present, settled
from ..engine.executable import Unit
from ..engine.modes import modes
from ..engine.row_sparse import RowSparse, payload
from ..engine.storage import Storage
from ..engine.tensor import Tensor, _make
from ..engine.value import ABSTRACT

SMALL = 16384  # elements; smaller parameters share arrays


class Kind(NamedTuple):
    """What the parameters of a pack have in common."""

    group: int  # the parameter group
    rate: float  # factor of the learning rate
    decay: tuple[str, float] | None  # kind and coefficient of the penalty
    clipped: bool
    numbers: tuple  # further numbers that the optimizer has for each parameter
    dtype: Any
    master: bool  # whether a float32 copy is trained in place of the parameter
    sharding: Any
    scalars: tuple  # the numbers in the state when the pack was made
    by_rows: bool = False  # the gradient is row-sparse; such a parameter is a pack of its own
    home: Any = None  # the sharding of the states, where it is not that of the parameter

    @property
    def compute_dtype(self) -> Any:
        """What the update is computed in and its state kept in: float32 for 16-bit parameters."""
        return np.dtype(np.float32) if np.dtype(self.dtype).itemsize < 4 else self.dtype


class Pack:
    """Parameters that step together. `states` has one array for each kind of state (and "master"): of the parameter's
    shape when `single`, otherwise all parameters flat, one after the other."""

    __slots__ = ("members", "shapes", "kind", "states", "row", "single", "device")

    def __init__(self, members: list, shapes: list, kind: Kind, states: dict, row: int, single: bool, device: Any):
        self.members = members  # weak references
        self.shapes = shapes
        self.kind = kind
        self.states = states
        self.row = row  # of the array that holds the scalars of all packs
        self.single = single
        self.device = device

    def state(self, name: str, index: int) -> jax.Array:
        """The state of one parameter, a copy of its own."""
        array = settled(self.states[name])
        if self.single:
            return jnp.array(array, copy=True)
        start = sum(_size(s) for s in self.shapes[:index])
        lead = array.shape[:-1]
        return jax.lax.slice_in_dim(array, start, start + _size(self.shapes[index]), axis=-1).reshape(
            lead + self.shapes[index]
        )


def _size(shape: tuple) -> int:
    n = 1
    for d in shape:
        n *= d
    return n


def is_small(shape: tuple, sharding: Any) -> bool:
    return _size(shape) < SMALL and isinstance(sharding, (jax.sharding.SingleDeviceSharding, type(None)))


class PackSpec(NamedTuple):
    """The part of a pack that the executable depends on."""

    row: int
    count: int
    single: bool
    decay: str | None
    clip: int | None  # position in the list of clipping rules
    writes: bool  # give the clipped or unscaled gradients back
    dtype: Any
    compute_dtype: Any
    master: bool
    sharding: Any
    by_rows: bool
    home: Any


class Spec(NamedTuple):
    """What an executable depends on, apart from shapes and types."""

    rule: type  # the optimizer class
    options: tuple  # its fixed settings
    states: tuple  # names of the states
    scalars: tuple  # names of the numbers in the state
    numbers: tuple  # names of the numbers in a row of the input
    packs: tuple[PackSpec, ...]
    clips: tuple[type, ...]  # kinds of the clipping rules


class Step(Unit):
    """A step as a unit, on the arrays of its arguments one after the other; `results` is the structure of its results,
    `overwriting` the compiled forms that use the memory of some arguments again."""

    __slots__ = ("results", "structure", "overwriting")

    def __init__(self, spec: Spec, structure: Any):
        def call(*arrays):
            out, self.results = jax.tree.flatten(_step(spec, *jax.tree.unflatten(structure, arrays)))
            return tuple(out)

        name = spec.rule.__name__.lower() + "_step"
        # What overwrites nothing runs where a captured order is left, at a moment that differs from run to run: its
        # compilation is counted as one of capture's.
        super().__init__(call, "captured_" + name)
        self.name = name
        self.structure = structure
        self.overwriting: dict[tuple, Callable] = {}

    def step(self, args: tuple, given: tuple[int, ...], put: Callable[..., Any]) -> Any:
        """Make the step; it may overwrite the arguments whose numbers are `given`. What `put(*results)` gives, which puts them
        in their places: an interrupt that comes between cannot keep it from that."""
        arrays = tuple(jax.tree.leaves(args))
        capture = modes.capturing
        made: list[tuple] = []
        try:
            if capture is not None and capture.follows():
                out = self.run(*arrays)
                made.append(out)
            else:
                run = self.overwriting.get(given) or self._overwriting(given)
                made.extend(itertools.starmap(run, (tuple(map(present, arrays)),)))  # no line between call and list
                out = made[0] if capture is None else capture.ran(self, arrays, made[0])
            return put(*jax.tree.unflatten(self.results, out))
        except BaseException:
            if made:
                put(*jax.tree.unflatten(self.results, made[0]))
            raise

    def _overwriting(self, given: tuple[int, ...]) -> Callable:
        ends = np.cumsum([child.num_leaves for child in self.structure.children()]).tolist()
        positions = [i for argument in given for i in range(ends[argument - 1], ends[argument])]

        def step(*arrays):
            return self.call(*arrays)

        step.__name__ = step.__qualname__ = self.name
        found = self.overwriting[given] = jax.jit(step, donate_argnums=positions)
        return found


_steps = functools.lru_cache(maxsize=512)(Step)


def _step(
    spec: Spec,
    numbers: Any,
    scalars: Any,
    grads: list,
    small: list,
    large: list,
    states: list,
    starts: list,
    inverse_scale: Any,
) -> tuple:
    """One step on arrays.

    Args:
        numbers: a flat array: for each pack learning rate, hyperparameters and the coefficient of the decay, then two
            numbers for each clipping rule.
        scalars: [packs of the optimizer, scalars], the numbers in the state, such as powers of beta.
        grads: the gradients, pack by pack.
        small, large: the parameters of packs that are not single or single, without those that have master weights.
        states: for each pack the list of its states.
        starts: for each parameter in a pack that is not single, where it begins in the flat array. As inputs, so that the
            pieces of one size are cut out by one kernel; with constants each had a kernel to compile.
        inverse_scale: what the gradients are multiplied by first (1 / loss scale), or None. If one of them is then infinite
            or NaN, nothing changes.

    Returns:
        (parameters pack by pack, states, scalars, gradients to be written back, whether a gradient is infinite or NaN)
    """
    width = len(spec.numbers)
    settings = [numbers[i * width : (i + 1) * width] for i in range(len(spec.packs))]
    rest = numbers[len(spec.packs) * width :]
    source, params, offsets = iter(grads), {True: iter(large), False: iter(small)}, iter(starts)
    flat_grads, flat_params, given, splits, each, rows = [], [], [], [], [], []
    for pack, state in zip(spec.packs, states):
        mine = [next(source) for _ in range(pack.count)]
        old = None if pack.master else [next(params[pack.single]) for _ in range(pack.count)]
        for p, g in zip(old or mine, mine):
            if p.shape != g.shape:
                raise errors.ValueError_(
                    f"{spec.rule.__name__}: a parameter of shape {list(p.shape)} has a gradient of shape "
                    f"{list(g.shape)}"
                )
        given.append(mine)
        split = functools.partial(
            _split, [g.shape for g in mine], None if pack.single else [next(offsets) for _ in mine]
        )
        splits.append(split)
        each.append(functools.partial(_each, split))
        rows.append(mine[0].merged() if pack.by_rows else None)
        values = [rows[-1].values] if pack.by_rows else mine
        flat_grads.append(_at(pack.home, _join([g.astype(pack.compute_dtype) for g in values], pack.single)))
        flat_params.append(state[-1] if pack.master else _at(pack.home, _join(old, pack.single)))
    bad = None
    if inverse_scale is not None:
        flat_grads = [g * jnp.asarray(inverse_scale, g.dtype) for g in flat_grads]
        bad = ~jnp.all(jnp.stack([jnp.all(jnp.isfinite(g)) for g in flat_grads]))
    for i, clip in enumerate(spec.clips):
        chosen = [k for k, pack in enumerate(spec.packs) if pack.clip == i]
        clipped = clip._clip([flat_grads[k] for k in chosen], rest[2 * i], rest[2 * i + 1], [each[k] for k in chosen])
        for k, g in zip(chosen, clipped):
            flat_grads[k] = g
    written, out_params, out_states, out_scalars = [], [], [], scalars
    for k, pack in enumerate(spec.packs):
        dtype = pack.compute_dtype
        p, g = flat_params[k].astype(dtype), flat_grads[k]
        if pack.writes and not pack.by_rows:
            written.extend(part.astype(mine.dtype) for part, mine in zip(splits[k](g), given[k]))
        elif pack.writes:
            written.append(given[k][0].with_values(given[k][0].values * jnp.asarray(inverse_scale, given[k][0].dtype)))
        h = SimpleNamespace(
            **{name: settings[k][i].astype(dtype) for i, name in enumerate(spec.numbers)},
            **dict(spec.options),
            each=each[k],
            by_rows=pack.by_rows,
        )
        old = dict(zip(spec.states, states[k]))
        fixed = {name: scalars[pack.row, i].astype(dtype) for i, name in enumerate(spec.scalars)}
        update = functools.partial(_updated, spec, pack, h, bad, fixed)
        new_p, new = (
            update(p, g, old) if rows[k] is None else _update_table(spec, pack, h, update, p, rows[k].rows, g, old)
        )
        if spec.scalars:
            row = jnp.stack([new[name].astype(scalars.dtype).reshape(()) for name in spec.scalars])
            out_scalars = out_scalars.at[pack.row].set(row)
        state = [new[name].astype(dtype) for name in spec.states]
        if pack.master:
            state.append(new_p)
        state = [_at(pack.home, x) if x.shape == new_p.shape else x for x in state]
        new_params = [q.astype(pack.dtype) for q in splits[k](new_p)]
        if pack.sharding is not None:
            new_params = [jax.lax.with_sharding_constraint(q, pack.sharding) for q in new_params]
        out_params.extend(new_params)
        out_states.append(state)
    return out_params, out_states, out_scalars, written, bad


def _updated(
    spec: Spec, pack: PackSpec, h: SimpleNamespace, bad: Any, fixed: dict, p: Any, g: Any, old: dict
) -> tuple[Any, dict]:
    """The new parameter and its state; the old ones where the gradients are bad."""
    if "rescale_grad" in spec.numbers:
        g = g * h.rescale_grad
    if pack.decay is not None:
        g = g + h.decay * (p if pack.decay == "l2" else jnp.sign(p))
    old = {**old, **fixed}
    new_p, new = spec.rule._update(p, g, old, h)
    if bad is not None:
        new_p = jnp.where(bad, p, new_p)
        new = {name: jnp.where(bad, old[name], value) for name, value in new.items()}
    return new_p, new


def _update_table(
    spec: Spec, pack: PackSpec, h: SimpleNamespace, update: Callable, p: Any, rows: Any, g: Any, old: dict
) -> tuple[Any, dict]:
    """The update of a table whose gradient has the rows `rows` with the values `g`, each row once: of these rows alone
    where nothing happens to the others."""
    if pack.decay is not None or not spec.rule._rests(h):
        return update(p, RowSparse(rows, g, p.shape[0]).dense(), old)

    def get(table):
        return table.at[rows].get(mode="fill", fill_value=0)

    def put(table, values):
        return table.at[rows].set(values, mode="drop", indices_are_sorted=True)

    new_rows, new = update(get(p), g, {name: get(old[name]) for name in spec.states})
    return put(p, new_rows), {**new, **{name: put(old[name], new[name]) for name in spec.states}}


def _at(home: Any, array: Any) -> Any:
    return array if home is None else jax.lax.with_sharding_constraint(array, home)


def _join(arrays: list, single: bool) -> Any:
    # Without the barriers here and in _split the compiler moves the arithmetic into the pieces: slow to compile and to run.
    return arrays[0] if single else jax.lax.optimization_barrier(jnp.concatenate([a.reshape(-1) for a in arrays]))


def _split(shapes: list, starts: list | None, flat: Any) -> list:
    """The parameters in a flat array; `starts` is None for a single one, which is not flat."""
    if starts is None:
        return [flat]
    flat = jax.lax.optimization_barrier(flat)
    return [
        jax.lax.dynamic_slice_in_dim(flat, start, _size(shape)).reshape(shape) for shape, start in zip(shapes, starts)
    ]


def _each(split: Callable, fn: Callable, *arrays: Any) -> Any:
    """Apply a function to each parameter's part of some arrays."""
    parts = [fn(*part) for part in zip(*map(split, arrays))]
    return parts[0] if parts[0].shape == arrays[0].shape else _join(parts, False)


def _held_elsewhere(params: list[Tensor]) -> bool:
    """Whether anybody but the slots of the parameters holds one of their arrays: the tape, a user, another tensor."""
    for p in params:
        if type(p._storage) is not Storage or isinstance(p._raw, ABSTRACT):
            return True
        holders, array = _references(p)
        if holders > _ALONE[array is None] or array is not None and array > _ALONE[2]:
            return True
    return False


def _references(p: Tensor) -> tuple[int, int | None]:
    """How often what lies in a slot is referenced, and if it is a Deferred, its array."""
    deferred = p._raw.__class__ is Deferred
    return sys.getrefcount(p._raw), sys.getrefcount(p._raw.array) if deferred else None


def _alone() -> tuple[int, int, int]:
    """The numbers where only the slot holds a Deferred, an array, and the Deferred its array."""
    deferred = [_make(Deferred((), None, None, 0, object())), _make(object())]
    (first, inner), (second, _) = map(_references, deferred)
    return first, second, inner  # type: ignore[return-value]


_ALONE = _alone()


@functools.lru_cache(maxsize=8192)
def _number(value: int, device: Any) -> jax.Array:
    return jax.device_put(np.int32(value), device)


class Plan:
    """One step: which packs, in which order the arrays, which executable.

    Args:
        packs: the packs, together all parameters of the step.
        order: for each parameter, pack by pack, its position in what `run` gets.
        clips: the clipping rule of each parameter group; every group is clipped by itself.
    """

    __slots__ = ("packs", "order", "spec", "scaled_spec", "clips", "dtype", "small", "large", "starts", "written")

    def __init__(
        self,
        packs: list[Pack],
        order: list[int],
        rule: type,
        options: tuple,
        states: tuple,
        scalars: tuple,
        numbers: tuple,
        clips: list,
    ):
        self.packs, self.order = packs, order
        groups = sorted({pack.kind.group for pack in packs if pack.kind.clipped and clips[pack.kind.group] is not None})
        self.clips = [clips[g] for g in groups]
        specs = []
        self.small: list[int] = []  # positions among the ordered parameters
        self.large: list[int] = []
        self.written: list[int] = []
        self.starts: list[Any] = []
        at = 0
        for pack in packs:
            kind = pack.kind
            clip = groups.index(kind.group) if kind.clipped and kind.group in groups else None
            writes = clip is not None and self.clips[clip]._writes_back and not kind.by_rows
            specs.append(
                PackSpec(
                    pack.row,
                    len(pack.members),
                    pack.single,
                    kind.decay[0] if kind.decay else None,
                    clip,
                    writes,
                    kind.dtype,
                    kind.compute_dtype,
                    kind.master,
                    kind.sharding,
                    kind.by_rows,
                    kind.home,
                )
            )
            mine = range(at, at + len(pack.members))
            at = mine.stop
            if not kind.master:
                (self.large if pack.single else self.small).extend(mine)
            if writes:
                self.written.extend(mine)
            if not pack.single:
                starts = np.cumsum([0, *map(_size, pack.shapes)])[:-1]
                self.starts.extend(_number(int(start), pack.device) for start in starts)
        self.spec = Spec(rule, options, states, scalars, numbers, tuple(specs), tuple(type(c) for c in self.clips))
        self.scaled_spec = self.spec._replace(packs=tuple(s._replace(writes=True) for s in specs))
        self.dtype = np.float64 if any(s.compute_dtype == np.float64 for s in specs) else np.float32

    def run(
        self,
        params: list[Tensor],
        grads: list[Tensor],
        numbers: list[float],
        scalars: Any,
        put_scalars: Callable[[Any], None],
        inverse_scale: Any = None,
    ) -> Any:
        """Make the step. Returns whether a gradient was infinite or NaN; the new scalars go to `put_scalars`."""
        params = [params[i] for i in self.order]
        grads = [grads[i] for i in self.order]
        values = [payload(g) for g in grads]
        large = [params[i] for i in self.large]
        overwrites = (1, 5) if not large or _held_elsewhere(large) else (1, 4, 5)
        args = (
            np.array(numbers, self.dtype),
            scalars,
            values,
            [params[i]._raw for i in self.small],
            [p._raw for p in large],
            [list(pack.states.values()) for pack in self.packs],
            self.starts,
            inverse_scale,
        )
        spec = self.spec if inverse_scale is None else self.scaled_spec

        def put(new_params: list, states: list, scalars: Any, written: list, bad: Any) -> Any:
            put_scalars(scalars)
            for p, value in zip(params, new_params):
                if type(p._storage) is Storage:
                    p._storage.value = value  # the version stays: a graph that is kept may go on with the old value
                else:
                    p._write_array(value)
            for pack, state in zip(self.packs, states):
                pack.states.update(zip(pack.states, state))
            if written:
                for g, value in zip(grads if inverse_scale is not None else [grads[i] for i in self.written], written):
                    g._write_array(value)
            return bad

        return _steps(spec, jax.tree.structure(args)).step(args, overwrites, put)
