"""Buckets: parameters of one type whose gradients travel together, and the shards of them that this process trains."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np

from .....engine import errors
from .....engine.deferred import Deferred
from .....engine.storage import Storage
from .....engine.tensor import Tensor, _make
from ....communication.collectives import run
from ....communication.group import Group
from ....communication.mesh import check_agreement, over_mesh
from ....reducer import _dense
from . import layout as layouts

_ATTRIBUTES = ("optimize_attr", "regularizer", "need_clip", "is_distributed")


class Bucket:
    """
    Args:
        params: parameters of one type.
        group: the processes over which they are divided.
        copies: the processes that have the same shards as this one and other data, or None.
        whole: every parameter belongs to one process.

    Attributes:
        shards: this process's parts, flat tensors, which the optimizer trains in place of the parameters.
        sources: for each shard the number of its parameter.
    """

    def __init__(self, params: list[Tensor], group: Group, copies: Group | None, whole: bool):
        self.params, self.group = params, group
        self.copies = copies if copies is not None and copies.nranks > 1 else None
        self.dtype = params[0]._raw.dtype
        self.layout = layouts.divide([tuple(p._raw.shape) for p in params], group.nranks, whole)
        self.pieces = self.layout.pieces[group.rank]
        self.sizes = tuple(stop - start for _, start, stop in self.pieces)
        self.sources = [number for number, _, _ in self.pieces]
        self.shards = [_shard_of(params[number]) for number in self.sources]
        self.ready: set[int] = set()  # the numbers of those whose gradients are there
        self.sent = False  # in this backward

    def agree(self) -> None:
        """Take over the values of the first process of the group, and of the first copy."""
        for group in (self.group, self.copies):
            if group is not None and group.nranks > 1:
                found = run(group, "group_sharded_parallel", "broadcast", self.params, 0)
                for p, array in zip(self.params, found):
                    p._storage.value = array.reshape(p._raw.shape)

    # ---- gradients ----
    def send(self) -> None:
        """Add the means of the gradients over all processes to those of the shards. A parameter that nobody used gets
        none."""
        self.sent = True
        arrays, marks = [], np.zeros(len(self.params), np.float32)
        for i, p in enumerate(self.params):
            total = _dense(p._grad)
            marks[i] = total is not None
            if total is None:
                total = jnp.zeros(p._raw.shape, self.dtype)
            arrays.append(total if total.dtype == self.dtype else total.astype(self.dtype))
        check_agreement(self.group, "sharding", *map(errors.describe, self.params))
        flat, shares = over_mesh(self.group, "scatter_gradients", [*arrays, jnp.asarray(marks)], self.layout)
        if self.copies is not None:
            (flat,) = over_mesh(self.copies, "all_reduce", [flat], "avg")
            (shares,) = over_mesh(self.copies, "all_reduce", [shares], "sum")
        if not self.pieces:
            return
        used = None
        for shard, number, part in zip(self.shards, self.sources, layouts.cut(flat, self.sizes)):
            before = _dense(shard._grad)
            if not marks[number] and before is None:
                used = np.asarray(shares) if used is None else used
                if not used[number] and shard._grad is None:
                    continue
            shard._grad = _make(part if before is None else before + part)

    # ---- values ----
    def take(self) -> None:
        """Put the present values of the parameters into the shards."""
        if self.pieces:
            found = layouts.take([p._value for p in self.params], self.pieces)
            for shard, array in zip(self.shards, found):
                shard._storage.write(array)

    def forget(self) -> None:
        """The shards of whole parameters need no memory of their own between the steps."""
        for i, shard in enumerate(self.shards):
            shard._storage.postpone(self._slice(i))

    def _slice(self, i: int) -> Callable:
        def take() -> Any:
            number, start, stop = self.pieces[i]
            return layouts.take([self.params[number]._value], ((0, start, stop),))[0]

        return take

    def gather(self) -> list:
        """The values of the parameters, from the shards of all processes."""
        flat = layouts.join([s._value for s in self.shards], self.layout.width) if self.pieces else self._nothing()
        return over_mesh(self.group, "gather_parameters", [flat], self.layout)

    def _nothing(self) -> Any:
        return jnp.zeros(self.layout.width, self.dtype)

    def spread(self) -> None:
        """Put the values of the shards into the parameters."""
        for p, array in zip(self.params, self.gather()):
            shape = p._raw.shape
            array = array if array.shape == shape else array.reshape(shape)
            if type(p._storage) is Storage:
                p._storage.value = array  # the version stays, as with an ordinary step
            else:
                p._write_array(array)
        self.forget()


class Unit(Bucket):
    """A bucket of which this process keeps only its shards: the parameters have values from `open` to `close`. Who reads
    one outside of that gathers it, which all processes then have to do."""

    def __init__(self, params: list[Tensor], group: Group, copies: Group | None, whole: bool):
        super().__init__(params, group, copies, whole)
        self.arrays: list | None = None  # the gathered values, computed or on their way
        self.shown = False  # whether the parameters have them
        self.standins: list = []
        self.register: dict[int, tuple[Unit, int]] = {}  # by the id of what stands in a slot: whose it is

    def divide(self) -> None:
        """Keep the shards only."""
        self.take()
        for p in self.params:
            p._storage = Guarded(p._storage, self)
        self.close()

    def start(self) -> None:
        """Begin to gather."""
        if self.arrays is None:
            found = self.gather()
            self.arrays = [a.reshape(s) if a.shape != s else a for a, s in zip(found, self.layout.shapes)]

    def open(self) -> None:
        """Give the parameters their values."""
        if not self.shown:
            self.start()
            for i, (p, array) in enumerate(zip(self.params, self.arrays or ())):
                p._storage.value = array
                self.register[id(array)] = self, i
            self.shown = True

    def close(self) -> None:
        """Take the values away."""
        for array in (*(self.arrays or ()), *self.standins):
            self.register.pop(id(array), None)
        self.arrays, self.shown = None, False
        self.standins = []
        for i, p in enumerate(self.params):
            p._storage.value = Deferred(self.layout.shapes[i], self.dtype, _Reading(self, i), i)
            self.standins.append(p._storage.value)

    def show(self) -> None:
        """A parameter was read outside of its layer."""
        self.open()
        for i, (standin, array) in enumerate(zip(self.standins, self.arrays or ())):
            standin.array = array
            self.register[id(standin)] = self, i

    def spread(self) -> None:
        """The shards have changed."""
        self.close()

    def take(self) -> None:
        if not isinstance(self.params[0]._storage, Guarded):
            super().take()

    def forget(self) -> None:
        """The shards are all there is."""

    def written(self, storage: Storage, array: Any) -> None:
        """A parameter got another value: keep this process's part of it."""
        number = next(i for i, p in enumerate(self.params) if p._storage is storage)
        for shard, piece in zip(self.shards, self.pieces):
            if piece[0] == number:
                shard._storage.write(layouts.take([array], ((0, *piece[1:]),))[0])
        if self.shown and self.arrays is not None:
            self.register.pop(id(self.arrays[number]), None)
            self.arrays[number] = storage.value = array
            self.register[id(array)] = self, number
        elif number < len(self.standins):
            storage.value = self.standins[number]


class Guarded(Storage):
    """The slot of a parameter that is kept in shards."""

    __slots__ = ("unit",)

    def __init__(self, before: Storage, unit: Unit):
        super().__init__(before.value)
        self.version, self.unit = before.version, unit

    def write(self, value: Any) -> None:
        super().write(value)
        self.unit.written(self, value)


class _Reading:
    """What a stand-in for a parameter waits for (see `Deferred`)."""

    def __init__(self, unit: Unit, number: int):
        self.unit, self.number, self.capture = unit, number, self

    def run(self) -> None:
        self.unit.show()

    def peek(self, wanted: Deferred) -> Any:
        return wanted.force()

    def neighbour(self) -> Any:
        shards = self.unit.shards
        return shards[0]._value if shards else jnp.zeros(())


def _shard_of(param: Tensor) -> Tensor:
    """A tensor that an optimizer takes for the parameter; it has no value yet."""
    shard = _make(None)
    shard._stop = param._stop
    shard._name = param.name
    for name in _ATTRIBUTES:
        if name in param.__dict__:
            setattr(shard, name, param.__dict__[name])
    return shard


def sort_into_buckets(params: list[Tensor], limit: int) -> list[list[Tensor]]:
    """Parameters of one type together, up to `limit` elements; those that were made last, whose gradients come first, in
    front."""
    found: list[list[Tensor]] = []
    open_buckets: dict[Any, tuple[list[Tensor], int]] = {}
    for p in reversed(params):
        dtype, size = p._raw.dtype, int(np.prod(p._raw.shape, dtype=int))
        bucket, used = open_buckets.get(dtype, ([], 0))
        if not bucket or used + size > limit:
            bucket, used = [], 0
            found.append(bucket)
        bucket.append(p)
        open_buckets[dtype] = bucket, used + size
    return found
