"""The tape: nodes that remember how a tensor was computed."""

from __future__ import annotations

import functools
import itertools
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from . import errors
from .debug import watch
from .deferred import Deferred
from .modes import Watch, modes
from .parameter import Parameter
from .row_sparse import RowSparse, SelectedRows, payload, wrap
from .tensor import Tensor, _make, is_empty

_sequence = itertools.count()
_accumulating = threading.RLock()

# Provenance of small tensors made with stop_gradient=True by to_tensor (see `is_source`): how large, how long a chain.
TRACE_SIZE = 4096
TRACE_DEPTH = 64


class Node:
    """A point of the tape. `edges` holds, for each differentiable input, (node, output index, live); an edge that is
    not live only serves `paddle.grad` with respect to a tensor that was made with stop_gradient=True."""

    __slots__ = ("edges", "seq", "hooks", "freed", "traced", "depth", "__weakref__")
    is_leaf = False
    is_source = False
    n_outputs = 1
    name = "node"

    def __init__(self, edges: tuple = ()):
        self.edges = edges
        self.seq = next(_sequence)
        self.hooks: dict[int, list] | None = None
        self.freed = False
        self.traced = False
        self.depth = 0

    def run(self, cotangents: list, record: Callable | None, live_only: bool) -> Sequence[Any]:
        """The gradients of the inputs, one for each edge (None where there is none).

        `record` is None when arrays come and go, or `dispatch` when Tensors do and the computation is to be recorded.
        """
        raise NotImplementedError

    def run_inputs(self, cotangents: list, later: list) -> Sequence[Any]:
        """As `run` of arrays; what leads to parameters only may be put into `later` instead, as (function that gives
        gradients, edges)."""
        return self.run(cotangents, None, True)

    def leads_to_parameters(self, depth: int = 3) -> bool:
        """Whether nothing but parameters lies beyond (within a few operators, such as a cast)."""
        return (
            depth > 0
            and bool(self.edges)
            and all(e is None or not e[2] or e[0].leads_to_parameters(depth - 1) for e in self.edges)
        )

    def free(self) -> None:
        self.freed = True

    def add_hook(self, index: int, hook: Callable) -> HookHandle:
        if self.hooks is None:
            self.hooks = {}
        handle = HookHandle(self.hooks.setdefault(index, []), hook)
        return handle

    def retain(self, index: int, tensor: Tensor) -> None:
        reference = weakref.ref(tensor)

        def keep(gradient: Tensor) -> None:
            alive = reference()
            if alive is not None:
                alive._grad = gradient.detach()

        self.add_hook(index, keep)

    def __repr__(self) -> str:
        return f"<{self.name} node>"


class HookHandle:
    """Returned by `register_hook`; `remove()` takes the hook out."""

    def __init__(self, hooks: list, hook: Callable):
        self._hooks, self._entry = hooks, [hook]
        hooks.append(self._entry)

    def remove(self) -> bool:
        found = any(entry is self._entry for entry in self._hooks)
        self._hooks[:] = [entry for entry in self._hooks if entry is not self._entry]
        return found


class AccumulateGrad(Node):
    """The end of the tape: adds what arrives to the `.grad` of a leaf."""

    __slots__ = ("tensor",)
    is_leaf = True
    name = "accumulate_grad"

    def __init__(self, tensor: Tensor):
        super().__init__()
        self.tensor = weakref.ref(tensor)

    def leads_to_parameters(self, depth: int = 3) -> bool:
        return isinstance(self.tensor(), Parameter)

    def accumulate(self, gradient: Any, add: Callable) -> None:
        with _accumulating:  # two threads may send gradients to one leaf
            self._accumulate(gradient, add)

    def _accumulate(self, gradient: Any, add: Callable) -> None:
        tensor = self.tensor()
        if tensor is None:
            return
        if modes.program is not None:
            modes.program.touched_gradient(tensor)
        old = tensor._grad
        if isinstance(gradient, Tensor):  # create_graph
            tensor._grad = gradient if is_empty(old) else add(old, gradient)
        elif old is None:
            tensor._grad = wrap(gradient)
        elif gradient.__class__ is RowSparse or old.__class__ is SelectedRows:
            tensor._grad = wrap(add(payload(old), gradient))
        elif old._storage.value is None and old._storage.pending is not None:  # zeroed by clear_grad
            old._storage.write(gradient)
        else:
            old._storage.write(add(old._raw, gradient))


class Source(Node):
    """Marks a small tensor that to_tensor made with stop_gradient=True. What is computed from it is remembered (within
    TRACE_SIZE and TRACE_DEPTH), so that paddle.grad can differentiate with respect to it when asked by name."""

    __slots__ = ()
    is_leaf = True
    is_source = True
    name = "source"

    def __init__(self) -> None:
        super().__init__()
        self.traced = True


class OpNode(Node):
    """A recorded operator call.

    `saved` holds (array, slot, version) for each array that the gradient needs; the version tells whether the tensor
    was overwritten since. `residual` is the closure of `jax.vjp` for operators that keep it.
    """

    __slots__ = ("gradient", "saved", "n_outputs", "residual", "mask", "has_dead")

    def __init__(
        self, gradient: Any, edges: tuple, saved: list, n_outputs: int, residual: Any, mask: int, has_dead: bool
    ):
        self.edges = edges
        self.seq = next(_sequence)
        self.hooks = None
        self.freed = self.traced = False
        self.depth = 0
        self.gradient = gradient
        self.saved = saved
        self.n_outputs = n_outputs
        self.residual = residual
        self.mask = mask
        self.has_dead = has_dead

    @property
    def name(self) -> str:  # type: ignore[override]
        return self.gradient.op.name

    def free(self) -> None:
        self.saved = self.residual = None  # type: ignore[assignment]
        self.freed = True

    def _arrays(self, cotangents: list) -> list:
        out = []
        for array, storage, version in self.saved:
            if storage is not None and storage.version != version:
                raise errors.RuntimeError_(
                    f"{self.name}: a tensor that its gradient needs was changed in place after it was used (version "
                    f"{storage.version}, expected {version}); change a copy instead"
                )
            if array.__class__ is Packed:
                array = array.unpack(cotangents)
            out.append(array)
        return out

    def run(self, cotangents: list, record: Callable | None, live_only: bool) -> Sequence[Any]:
        if self.saved is None:
            raise errors.RuntimeError_(
                f"{self.name}: backward through the same graph a second time; what it saved was "
                "released. Pass retain_graph=True to the first backward or grad"
            )
        wanted = self._live_mask() if live_only and self.has_dead else self.mask
        present = tuple([c is not None for c in cotangents])
        arrays = self._arrays(cotangents)
        given = [c for c in cotangents if c is not None]
        if record is not None:
            kernel = self.gradient.kernel(present, wanted)
            out = record(kernel, tuple(self._tensors(arrays) + given))
        elif self.residual is not None and wanted == self.mask:
            out = self.gradient.run_residual(self.residual, cotangents)
        else:
            out = self.gradient.run(present, wanted, arrays + given)
        if Watch.on and record is None:
            watch(self.gradient.kernel(present, wanted), arrays + given, out)
        if wanted == self.mask:
            return out
        results, result = [], iter(out)
        for bit in _bits(self.mask):
            results.append(next(result) if wanted & bit else None)
        return results

    def run_inputs(self, cotangents: list, later: list) -> Sequence[Any]:
        bits = list(zip(_bits(self.mask), self.edges))
        weights = sum(bit for bit, edge in bits if edge[2] and edge[0].leads_to_parameters())
        if not weights or self.residual is not None or self.saved is None:
            return self.run(cotangents, None, True)
        present = tuple([c is not None for c in cotangents])
        arrays = self._arrays(cotangents) + [c for c in cotangents if c is not None]
        later.append((functools.partial(self._pull, present, weights, arrays), [e for b, e in bits if b & weights]))
        rest = sum(bit for bit, edge in bits if edge[2]) & ~weights
        found = iter(self._pull(present, rest, arrays) if rest else ())
        return [next(found) if rest & bit else None for bit, _ in bits]

    def _pull(self, present: tuple, wanted: int, arrays: list) -> Sequence[Any]:
        out = self.gradient.run(present, wanted, arrays)
        if Watch.on:
            watch(self.gradient.kernel(present, wanted), arrays, out)
        return out

    def _live_mask(self) -> int:
        mask = 0
        for bit, edge in zip(_bits(self.mask), self.edges):
            if edge[2]:
                mask |= bit
        return mask

    def _tensors(self, arrays: list) -> list:
        """The saved arrays as tensors that are connected to the graph."""
        edges = dict(zip(_bits(self.mask), self.edges))
        out = []
        for array, position in zip(arrays, self.gradient.needed):
            if position >= self.gradient.n_inputs:
                out.append(_make(array, self, position - self.gradient.n_inputs, False))
                continue
            edge = edges.get(1 << position)
            if edge is not None:
                out.append(_make(array, edge[0], edge[1], not edge[2]))
            else:
                out.append(_make(array) if isinstance(array, (jax.Array, Deferred)) else array)
        return out


class Packed:
    """A saved array that went through the hooks of `saved_tensors_hooks`."""

    __slots__ = ("hook", "value")

    def __init__(self, hooks: tuple, array: Any):
        self.hook = hooks[1]
        self.value = hooks[0](_make(array))

    def unpack(self, cotangents: list | None = None) -> Any:
        modes.arriving = cotangents
        try:
            out = self.hook(self.value)
        finally:
            modes.arriving = None
        return out._value if isinstance(out, Tensor) else jnp.asarray(out)


def _bits(mask: int) -> list[int]:
    out = []
    while mask:
        low = mask & -mask
        out.append(low)
        mask ^= low
    return out
