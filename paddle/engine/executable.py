"""Executables: an operator with its attributes fixed, compiled, and its gradients.

A `Kernel` is what dispatch knows of an operator. For each set of attributes it has an `Entry`, a function of arrays only
with its compiled form. For each set of inputs that want a gradient, and each set of shapes and types, an entry has a
`Gradient`, which is a kernel again: recorded by dispatch it can be differentiated like any other, to any order.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from . import errors, flags
from .deferred import Deferred, settled
from .meshed import OverMesh, axes_of, keeps_order
from .modes import modes
from .place import memory_limit
from .random import fold

MAX_ENTRIES = 4096  # of one operator
MAX_SIGNATURES = 256  # for which an entry remembers its gradients
TENSOR = object()  # stands for an array in the key of an entry


class Kernel:
    """An operator as dispatch sees it: the body `fn`, a name, and the metadata that `op.Op` documents. `roles` tells for
    each parameter whether it is "static", "scalar" or neither."""

    def __init__(
        self,
        fn: Callable,
        name: str,
        roles: tuple[str, ...],
        *,
        random: bool = False,
        differentiable: bool = True,
        gradient: Callable | None = None,
        save: str = "inputs",
        view: Callable | None = None,
        view_strides: Callable | None = None,
        shape_only: bool = False,
        mesh: Any = None,
    ):
        self.fn = fn
        self.name = name
        self.roles = roles
        self.random = random
        self.differentiable = differentiable
        self.gradient = gradient
        self.save = save
        self.view = view
        self.view_strides = view_strides
        self.shape_only = shape_only
        self.mesh = mesh  # of the processes with which the body communicates (see `meshed`)
        self.switches: tuple = ()  # position and name of the parameters that are bools
        self.entries: dict[tuple, Entry] = {}

    def entry(self, *key: Any) -> Entry:
        """The entry for a key, made when it is new."""
        found = self.entries.get(key)
        if found is None:
            if len(self.entries) >= MAX_ENTRIES:  # attributes that never repeat must not fill the memory
                for old in list(self.entries)[: MAX_ENTRIES // 4]:
                    self.entries.pop(old, None)
            for position, param in self.switches:
                given = _fill(key[position], iter((None,)))
                if not (given is None or isinstance(given, (bool, int)) and given in (0, 1)):
                    raise errors.TypeError_(f"{self.name}: argument {param!r} must be a bool, got {given!r:.80}")
            found = self.entries[key] = Entry(self, key)
        return found

    def __repr__(self) -> str:
        return f"<op {self.name}>"


class Frozen(tuple):
    """A static argument of ints and tuples of ints, made by an operator's own Python side: a key as it stands."""

    __slots__ = ()


class Static:
    """A static argument inside a key, distinguished by type, so that 1, 1.0 and True do not meet."""

    __slots__ = ("value", "kind", "exact", "_hash")

    def __init__(self, value: Any):
        self.value = value
        self.kind = type(value) if type(value) is not tuple else tuple(map(type, value))
        self.exact = self.kind is not float and not (type(value) is tuple and float in self.kind)
        self._hash = hash((value, self.kind))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: Any) -> bool:
        if self.__class__ is not other.__class__ or self.kind != other.kind:
            return False
        mine, theirs = self.value, other.value
        return mine is theirs or (mine == theirs and (self.exact or str(mine) == str(theirs)))  # 0.0, -0.0


class Sequence:
    """A list argument inside a key, with keys for its elements."""

    __slots__ = ("items",)

    def __init__(self, items: tuple):
        self.items = items

    def __hash__(self) -> int:
        return hash(self.items)

    def __eq__(self, other: Any) -> bool:
        return type(other) is Sequence and self.items == other.items


class Unit:
    """A function of arrays, `call`, with a name and its compiled form: what runs on the device at once.

    `call` gives an array or a tuple of arrays. `mesh` is that of the processes with which it communicates, or None. `opaque`
    is set for a unit that capture cannot defer: its results are something else, or it has to run when the others run theirs.
    """

    __slots__ = ("call", "name", "mesh", "compiled", "opaque")

    def __init__(self, call: Callable, name: str, mesh: Any = None):
        def unit(*arrays):
            return self.call(*arrays)

        self.call, self.name, self.mesh = call, name, mesh
        unit.__name__ = unit.__qualname__ = name
        self.compiled: Callable = jax.jit(unit) if mesh is None else OverMesh(unit, mesh)
        self.opaque = not keeps_order(mesh)
        if flags.debug_level() >= 4:
            self.compiled = _printing(self.compiled, name)

    def run(self, *arrays):
        """The results for these arrays: the one door to the device."""
        capture = modes.capturing
        if capture is not None:
            return capture.run(self, arrays)
        try:
            return self.compiled(*arrays)
        except (TypeError, ValueError):  # JAX raises either
            if not any(a.__class__ is Deferred for a in arrays):
                raise
        return self.compiled(*map(settled, arrays))


class Entry(Unit):
    """An operator with its attributes fixed: a function of arrays only, its executable and its gradients."""

    __slots__ = ("op", "key", "gradients")

    def __init__(self, op: Kernel, key: tuple):
        self.op = op
        self.key = key
        self.gradients: dict[tuple, Gradient] = {}
        super().__init__(self._call, op.name, op.mesh)

    def arguments(self, arrays: Any) -> list:
        source = iter(arrays)
        args = [fold(next(source))] if self.op.random else []
        args.extend(_fill(k, source) for k in self.key)
        return args

    def attributes(self) -> list:
        """The arguments that are no arrays, in order."""
        return [_fill(k, iter(())) for k in self.key if k is not TENSOR and type(k) is not Sequence]

    def _call(self, *arrays):
        out = self.op.fn(*self.arguments(arrays))
        if isinstance(out, (tuple, list)):
            return tuple(_result(self.op.name, o) for o in out)
        return _result(self.op.name, out)

    def gradient(self, mask: int, arrays: list, outputs: Any = None) -> Gradient:
        """The gradient for these shapes and types: what it needs may depend on them, as bodies branch on them."""
        if outputs is None:
            with axes_of(self.op.mesh):
                outputs = jax.eval_shape(self.call, *map(_spec, arrays))
            outputs = outputs if type(outputs) is tuple else (outputs,)
        if len(self.gradients) >= MAX_SIGNATURES:  # data whose shapes never repeat must not fill the memory
            del self.gradients[next(iter(self.gradients))]
        found = self.gradients[mask, signature(arrays)] = Gradient(self, mask, arrays, outputs)
        return found


_NUMBERS = frozenset((bool, int, float, complex))


def signature(arrays: list) -> tuple:
    """Shapes and types of the arrays of a call, the type alone for a Python number."""
    return tuple([a.__class__ if a.__class__ in _NUMBERS else (a.shape, a.dtype) for a in arrays])


def _printing(run: Any, name: str) -> Callable:
    """Print the HLO of each new signature before it runs (PADDLE_XLA_DEBUG=4)."""
    seen = set()

    def printing(*arrays):
        signature = tuple((np.shape(a), np.result_type(a)) for a in arrays)
        if signature not in seen:
            seen.add(signature)
            print(f"[paddle-xla] {name}\n{run.lower(*arrays).compile().as_text()}", file=sys.stderr)
        return run(*arrays)

    return printing


def _fill(key: Any, source: Any) -> Any:
    if key is TENSOR:
        return next(source)
    if type(key) is Static:
        return key.value
    if type(key) is Sequence:
        return [_fill(k, source) for k in key.items]
    return key


def _result(name: str, array: Any) -> Any:
    """Without JAX's mark for "was a Python number": results are ordinary arrays. MemoryError for one that no device can
    hold: the compiler would end the process."""
    array = jnp.asarray(array)
    elements = math.prod(array.shape)
    if isinstance(elements, int) and elements * array.dtype.itemsize > memory_limit():
        raise errors.OutOfMemory(
            f"{name}: the result of shape {list(array.shape)} and type {array.dtype.name} needs "
            f"{elements * array.dtype.itemsize / 2**30:.4g} GiB, the devices have "
            f"{memory_limit() / 2**30:.4g} GiB"
        )
    return jax.lax.convert_element_type(array, array.dtype) if array.weak_type else array


class Gradient:
    """How to differentiate an entry with respect to the inputs in `mask`, for one set of shapes and types.

    `needed` lists the positions of the arrays that the gradient reads: inputs first, then outputs. It is found by
    tracing the gradient once and following what its results depend on.
    """

    __slots__ = (
        "entry",
        "mask",
        "positions",
        "needed",
        "missing",
        "n_inputs",
        "n_outputs",
        "op",
        "kernels",
        "residual_forward",
        "residual_backward",
        "structure",
        "several",
        "differentiable",
    )

    def __init__(self, entry: Entry, mask: int, arrays: list, outputs: tuple):
        self.entry = entry
        self.op = entry.op
        self.mask = mask
        self.positions = [i for i in range(len(arrays)) if mask >> i & 1]
        self.n_inputs, self.n_outputs = len(arrays), len(outputs)
        self.differentiable = tuple(_differentiable(o.dtype) for o in outputs)
        self.kernels: dict[tuple, Kernel] = {}
        specs = [_spec(a) for a in (*arrays, *outputs)]
        self.needed = tuple(range(len(specs)))
        self.missing: dict[int, Any] = {}
        body = self.body(self.differentiable, mask)
        cotangents = [s for s, d in zip(specs[self.n_inputs :], self.differentiable) if d]
        with axes_of(self.op.mesh):
            jaxpr = jax.make_jaxpr(body)(*specs, *cotangents).jaxpr
        used = _used(jaxpr)
        self.needed = tuple(i for i in range(len(specs)) if jaxpr.invars[i] in used)
        self.missing = {
            i: specs[i] for i in range(len(specs)) if i not in self.needed
        }  # of these only the shape is read
        self.residual_forward: Any = None
        self.residual_backward: Any = None
        self.structure: Any = None  # of the closure of jax.vjp, whose arrays are kept
        self.several = False  # whether the operator gives a tuple
        if self.op.save == "residuals":
            self.residual_forward = Unit(self._forward, self.op.name, self.op.mesh)
            self.residual_backward = Unit(self._pull_back, self.op.name + "_grad", self.op.mesh)

    @classmethod
    def whole(cls, entry: Entry, mask: int, n_inputs: int, differentiable: tuple) -> Gradient:
        """A gradient for any shapes and types: it reads all inputs (and the outputs where the operator has a gradient of
        its own), and keeps no residuals."""
        found = entry.gradients.get((mask,))
        if found is None:
            found = cls.__new__(cls)
            found.entry, found.op, found.mask = entry, entry.op, mask
            found.positions = [i for i in range(n_inputs) if mask >> i & 1]
            found.n_inputs, found.n_outputs = n_inputs, len(differentiable)
            found.needed = tuple(range(n_inputs + (len(differentiable) if entry.op.gradient is not None else 0)))
            found.missing, found.kernels, found.differentiable = {}, {}, differentiable
            found.residual_forward = found.residual_backward = None
            entry.gradients[(mask,)] = found
        return found

    def body(self, present: tuple, mask: int) -> Callable:
        """The gradient as a function of the needed arrays and of the cotangents that are present."""
        entry, n, positions = self.entry, self.n_inputs, [i for i in range(self.n_inputs) if mask >> i & 1]
        needed, missing = self.needed, self.missing

        def gradient(*flat):
            arrays = dict(zip(needed, flat))
            for i, spec in missing.items():
                arrays[i] = jnp.zeros(spec.shape, spec.dtype) if hasattr(spec, "shape") else jnp.asarray(type(spec)(0))
            inputs = [arrays.get(i) for i in range(n)]
            given = iter(flat[len(needed) :])
            cotangents = [next(given) if p else None for p in present]
            if entry.op.gradient is not None:
                outputs = tuple(arrays.get(n + i) for i in range(self.n_outputs))
                attributes = entry.attributes()
                found = entry.op.gradient(inputs, outputs, cotangents, *attributes)
                found = found if isinstance(found, (tuple, list)) else (found,)
                return tuple(_fit(entry.op.name, found[i], inputs[i]) for i in positions)

            def forward(*chosen):
                full = list(inputs)
                for i, value in zip(positions, chosen):
                    full[i] = value
                out = entry.call(*full)
                return _differentiable_part(out)

            outs, vjp = jax.vjp(forward, *(inputs[i] for i in positions))
            return _apply_vjp(vjp, outs, self._align(cotangents))

        gradient.__name__ = gradient.__qualname__ = entry.op.name + "_grad"
        return gradient

    def _align(self, cotangents: Any) -> list:
        return [c for c, d in zip(cotangents, self.differentiable) if d]

    def kernel(self, present: tuple, mask: int) -> Kernel:
        """The gradient as an operator without attributes, so with one entry."""
        key = (present, mask)
        found = self.kernels.get(key)
        if found is None:
            n = len(self.needed) + sum(present)
            found = Kernel(self.body(present, mask), self.op.name + "_grad", ("scalar",) * n, mesh=self.op.mesh)
            found.entry(*(TENSOR,) * n)
            self.kernels[key] = found  # complete: other threads look here
        return found

    # -- operators that keep the residuals of the forward run --
    def _forward(self, *arrays):
        """The results of the entry, and the arrays in the closure of jax.vjp."""

        def forward(*chosen):
            full = list(arrays)
            for i, value in zip(self.positions, chosen):
                full[i] = value
            out = self.entry.call(*full)
            return _differentiable_part(out), out

        _, vjp, out = jax.vjp(forward, *(arrays[i] for i in self.positions), has_aux=True)
        kept, structure = jax.tree.flatten(vjp)
        if self.structure is None:
            self.structure, self.several = structure, type(out) is tuple
        return (*(out if type(out) is tuple else (out,)), *kept)

    def _pull_back(self, *arrays):
        n = self.structure.num_leaves
        vjp, cotangents = jax.tree.unflatten(self.structure, arrays[:n]), arrays[n:]
        return _apply_vjp(vjp, cotangents, list(cotangents))

    def run_forward(self, arrays: list) -> tuple[Any, tuple]:
        """The results of the operator, and what its gradient keeps."""
        found = self.residual_forward.run(*arrays)
        outs = found[: self.n_outputs]
        return outs if self.several else outs[0], (found[self.n_outputs :], [(o.shape, o.dtype) for o in outs])

    def run(self, present: tuple, mask: int, arrays: list) -> tuple:
        """The gradients of the inputs in `mask`, from the needed arrays and the cotangents that are present."""
        kernel = self.kernels.get((present, mask)) or self.kernel(present, mask)
        return next(iter(kernel.entries.values())).run(*arrays)

    def run_residual(self, residual: tuple, cotangents: list) -> tuple:
        kept, specs = residual
        full = [jnp.zeros(*spec) if c is None else c for c, spec in zip(cotangents, specs)]
        return self.residual_backward.run(*kept, *self._align(full))


def _fit(name: str, gradient: Any, like: Any) -> Any:
    if gradient is None:
        return jnp.zeros(like.shape, like.dtype)
    if gradient.shape != like.shape:
        raise errors.RuntimeError_(
            f"{name}: its gradient has shape {list(gradient.shape)}, the input {list(like.shape)}"
        )
    return gradient if gradient.dtype == like.dtype else gradient.astype(like.dtype)


def _differentiable(dtype: Any) -> bool:
    return dtype.kind in "fcV" if dtype.kind != "V" else jnp.issubdtype(dtype, jnp.floating)


def _differentiable_part(out: Any) -> tuple:
    outs = out if type(out) is tuple else (out,)
    return tuple(o for o in outs if _differentiable(o.dtype))


def _apply_vjp(vjp: Callable, outs: Any, cotangents: list) -> tuple:
    """Pull cotangents back, in the official convention for complex numbers: the gradient is dL/d(re) + i dL/d(im),
    the conjugate of JAX's."""
    full = []
    for out, c in zip(outs, cotangents):
        if c is None:
            c = jnp.zeros(out.shape, out.dtype)
        elif c.dtype != out.dtype:
            c = c.astype(out.dtype)
        full.append(jnp.conj(c) if jnp.iscomplexobj(c) else c)
    return tuple(jnp.conj(g) if jnp.iscomplexobj(g) else g for g in vjp(tuple(full)))


def _spec(array: Any) -> Any:
    if isinstance(array, (bool, int, float, complex)):
        return array
    return jax.ShapeDtypeStruct(array.shape, array.dtype, weak_type=bool(getattr(array, "weak_type", False)))


def _used(jaxpr: Any) -> set:
    """The variables that the results of a jaxpr depend on."""
    used = {v for v in jaxpr.outvars if not hasattr(v, "val")}
    for equation in reversed(jaxpr.eqns):
        if any(v in used for v in equation.outvars) or equation.effects:
            used.update(v for v in equation.invars if not hasattr(v, "val"))
    return used
