"""Averages gradients over the processes, in buckets, while the backward goes on.

A hook on each parameter notes that its gradient is there. When all of a bucket are, one computation averages them; it runs
while the backward computes the rest. Buckets start in a fixed order, the same in all processes. At the end of the
backward those that are not complete are sent with zeros for what is missing, together with marks of who had a gradient, so
that a parameter which any process used gets a gradient in all of them, and one that nobody used keeps none.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh

from ..engine import errors
from ..engine.autograd import add_arrays
from ..engine.executable import TENSOR, Kernel
from ..engine.modes import modes
from ..engine.row_sparse import RowSparse, SelectedRows, payload
from ..engine.tensor import Tensor, _make
from .communication import objects
from .communication.group import Group
from .communication.mesh import BODIES, check_agreement
from .communication.task import failure

MEGABYTE = 1 << 20


class Bucket:
    """Parameters of one type whose gradients are averaged together."""

    def __init__(self, params: list[Tensor]):
        self.params = params
        self.ready: set[int] = set()  # the numbers of those whose gradients are there
        self.means: list | None = None  # from the start on: the averages, and which share of the processes had each
        self.again = False  # a gradient came after the start


class Reducer:
    """
    Args:
        params: the parameters, in the same order in all processes.
        sparse: the tables whose gradients are row-sparse.
        group: the processes.
        sizes: bytes of a bucket, and of the one that is sent first.
        factor: for the averages.
        hooks: follow the backward; False: `combine` does everything.
    """

    def __init__(
        self,
        params: list[Tensor],
        sparse: list[Tensor],
        group: Group,
        sizes: tuple[float, float],
        factor: float = 1.0,
        hooks: bool = True,
    ):
        self.group, self.factor = group, factor
        self.enabled = True
        self.params = params
        tables = {id(p) for p in sparse}
        self.tables = [p for p in params if id(p) in tables]
        self.buckets = [Bucket(b) for b in _divide([p for p in params if id(p) not in tables], sizes)]
        self._started = 0
        self._finishing: Any = None  # the list of the backward that runs
        self._hooks: list = []
        if not hooks:
            return
        for param in self.tables:
            self._hooks.append(param.register_hook(self._hook(None, 0)))
        for bucket in self.buckets:
            for i, param in enumerate(bucket.params):
                self._hooks.append(param.register_hook(self._hook(bucket, i)))

    def __deepcopy__(self, memo: dict) -> None:
        """The hooks are on these parameters, not on copies of them."""

    def detach(self) -> None:
        """Take the hooks off."""
        for hook in self._hooks:
            hook.remove()
        self._hooks.clear()

    def _hook(self, bucket: Bucket | None, number: int) -> Callable:
        def arrived(gradient: Tensor) -> None:
            if self.enabled:
                self._arrived(gradient, bucket, number)

        return arrived

    def _arrived(self, gradient: Tensor, bucket: Bucket | None, number: int) -> None:
        recording = modes.program is not None
        if self._finishing is not modes.finishing:  # the first one; an earlier backward may have failed
            self._reset()
            self._finishing = modes.finishing
            modes.finishing.append(self._record if recording else self.finish)
        if bucket is None or recording:
            return
        if bucket.means is not None:  # used in several parts that are recomputed
            bucket.again = True
            return
        bucket.ready.add(number)
        while self._started < len(self.buckets):
            first = self.buckets[self._started]
            if len(first.ready) < len(first.params):
                return
            self._start(first, number if first is bucket else -1, gradient)
            self._started += 1

    def _start(self, bucket: Bucket, newest: int = -1, gradient: Tensor | None = None) -> None:
        """Send a bucket; the gradient of the parameter number `newest` is not in its `.grad` yet."""
        arrays, marks = [], np.zeros(len(bucket.params), np.float32)
        for i, param in enumerate(bucket.params):
            total = _dense(param._grad)
            if i == newest:
                total = _dense(gradient) if total is None else add_arrays(total, _dense(gradient))
            marks[i] = total is not None
            arrays.append(jnp.zeros(param._raw.shape, param._raw.dtype) if total is None else total)
        arrays.append(_marks(marks.tobytes(), bucket.params[0]._raw.dtype))
        check_agreement(self.group, "DataParallel", *map(errors.describe, bucket.params))
        kernel = _averaging(self.group.mesh, len(arrays), self.factor)
        bucket.means = kernel.entry(*(TENSOR,) * len(arrays)).run(*arrays)

    def combine(self) -> None:
        """Average the gradients as they are now."""
        (self.finish if modes.program is None else self._record)()

    def finish(self) -> None:
        """The end of the backward: send what is left, and put the averages into the gradients."""
        try:
            for bucket in self.buckets[self._started :]:
                self._start(bucket)
            for bucket in self.buckets:
                if bucket.again:
                    self._start(bucket)
            for table in self.tables:
                self._average_rows(table)
            for bucket in self.buckets:
                self._put_back(bucket)
        except jax.errors.JaxRuntimeError as error:
            raise failure("DataParallel", error) from None
        finally:
            self._reset()

    def _reset(self) -> None:
        self._finishing, self._started = None, 0
        for bucket in self.buckets:
            bucket.ready, bucket.means, bucket.again = set(), None, False

    def _record(self) -> None:
        """The end of a backward that becomes part of a program: an operator of it averages all gradients, so that the
        executable communicates by itself."""
        self._reset()
        if any(p._grad is not None for p in self.tables):
            raise errors.NotImplemented_("DataParallel: row-sparse gradients inside of to_static")
        params = [p for bucket in self.buckets for p in bucket.params if p._grad is not None]
        for param, mean in zip(params, average_recorded(self.group, [p._grad for p in params], self.factor)):
            param._grad = mean

    def _put_back(self, bucket: Bucket) -> None:
        *means, shares = bucket.means  # type: ignore[misc]
        used = None
        for i, (param, mean) in enumerate(zip(bucket.params, means)):
            grad = param._grad
            if grad is None:
                used = np.asarray(shares) if used is None else used
                if used[i] > 0:
                    param._grad = _make(mean)
            elif isinstance(grad, SelectedRows):
                param._grad = _make(mean)
            else:
                grad._storage.write(mean)

    def _average_rows(self, table: Tensor) -> None:
        """Row-sparse gradients are put one behind the other."""
        grad = table._grad
        own = None
        if isinstance(grad, SelectedRows):
            rows = payload(grad)
            own = np.asarray(rows.rows), np.asarray(rows.values)
        elif (whole := _dense(grad)) is not None:
            own = np.arange(table.shape[0]), np.asarray(whole)
        found = [f for f in objects.exchange(own, self.group, "DataParallel") if f is not None]
        if found:
            rows, values = (np.concatenate(part) for part in zip(*found))
            values = values * np.asarray(self.factor / self.group.nranks, values.dtype)
            table._grad = SelectedRows(RowSparse(jnp.asarray(rows), jnp.asarray(values), table.shape[0], True))


def _dense(gradient: Tensor | None) -> Any:
    """The array of a gradient, None where there is none or only a zero."""
    if gradient is None:
        return None
    if isinstance(gradient, SelectedRows):
        return gradient.to_dense()._raw
    storage = gradient._storage
    if storage.value is None and storage.pending is not None:  # zeroed by clear_grad
        return None
    return gradient._raw


@functools.lru_cache(maxsize=1024)
def _marks(marks: bytes, dtype: Any) -> jax.Array:
    """One number for each parameter of a bucket, whether it has a gradient."""
    return jnp.asarray(np.frombuffer(marks, np.float32), dtype)


@functools.cache
def _averaging(mesh: Mesh, n: int, factor: float) -> Kernel:
    """From gradients and marks to the averages of both over the processes, those of the gradients times a factor."""

    def average(*arrays: Any) -> tuple:
        *means, shares = BODIES["mean_of_bucket"](arrays, lax.axis_size("ranks"))
        return *(m if factor == 1 else m * jnp.asarray(factor, m.dtype) for m in means), shares

    return Kernel(average, "average_gradients", ("",) * n, mesh=mesh)


def average_recorded(group: Group, gradients: list[Tensor], factor: float = 1.0) -> list[Tensor]:
    """The averages of gradients in a program that is being built, times a factor: an operator for each type."""
    found: dict[int, Tensor] = {}
    for dtype in dict.fromkeys(g.dtype for g in gradients):
        some = [g for g in gradients if g.dtype is dtype]
        check_agreement(group, "average of gradients", *map(errors.describe, some))
        kernel = Kernel(_average, "average_gradients", ("",) * len(some), mesh=group.mesh)
        means = modes.program.record(kernel, tuple(some))
        found.update((id(g), m if factor == 1 else m * factor) for g, m in zip(some, means))
    return [found[id(g)] for g in gradients]


def _average(*gradients: Any) -> tuple:
    """The means over the processes, in one transfer."""
    return tuple(BODIES["mean_of_bucket"](gradients, lax.axis_size("ranks")))


def _divide(params: list[Tensor], sizes: tuple[float, float]) -> list[list[Tensor]]:
    """The parameters in buckets, those that were made last, whose gradients come first, in front."""
    limit, first = sizes
    buckets: list[list[Tensor]] = []
    open_buckets: dict[Any, tuple[list[Tensor], float]] = {}
    for param in reversed(params):
        dtype, size = param._value.dtype, param._value.nbytes if param._value.size else 0
        bucket, used = open_buckets.get(dtype, ([], 0.0))
        if not bucket or used + size > (first if bucket is buckets[0] else limit):
            bucket, used = [], 0.0
            buckets.append(bucket)
        bucket.append(param)
        open_buckets[dtype] = bucket, used + size
    return buckets
