"""Dispatch: the one road from a call on tensors to XLA, and the place where calls go onto the tape."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from . import errors
from .debug import watch
from .executable import TENSOR, Frozen, Kernel, Sequence, Static, signature
from .modes import Watch, modes, set_mode
from .random import generator
from .storage import VIEW_DEPTH, View
from .tape import TRACE_DEPTH, TRACE_SIZE, OpNode, Packed
from .tensor import Tensor, _make


def dispatch(op: Kernel, args: tuple) -> Any:
    """Run an operator on its arguments (in the order of its parameters): the only way from a call to XLA."""
    if modes.special or Watch.on:
        return _dispatch_specially(op, args)
    return _dispatch(op, args)


def _dispatch(op: Kernel, args: tuple) -> Any:
    key: list = []
    inputs: list = []
    for arg, role in zip(args, op.roles):
        kind = arg.__class__
        if isinstance(arg, Tensor) and role != "static":
            key.append(TENSOR)
            inputs.append(arg)
        elif arg is None or kind is str:
            key.append(arg)
        elif role == "scalar" and (kind is float or kind is int or kind is complex):
            key.append(TENSOR)
            inputs.append(arg)
        elif kind is int:
            key.append(arg)
        else:
            key.append(_key_of(arg, role, inputs))
    arrays: list = []
    live = traced = 0
    bit = 1
    if op.random:
        arrays.append(generator().tick())
        inputs.insert(0, None)
        bit = 2
        source = inputs[1:]
    else:
        source = inputs
    for item in source:
        if isinstance(item, Tensor):
            value = item._storage.value
            if value is None:
                value = item._storage.read(item)
            node = item._node
            if node is not None:
                if not item._stop:
                    live |= bit
                elif node.traced:
                    traced |= bit
            arrays.append(value)
        else:
            arrays.append(item)
        bit += bit
    frozen = tuple(key)
    entry = op.entries.get(frozen) or op.entry(*frozen)
    if (live or traced) and modes.grad and op.differentiable:
        return _record(op, entry, args, inputs, arrays, live, traced)
    out = entry.run(*arrays)
    if type(out) is tuple:
        return tuple([_make(o) for o in out])
    result = _make(out)
    if op.view is not None:
        _share(result, op, args)
    return result


def _share(result: Tensor, op: Kernel, args: tuple) -> None:
    """Let the result of a view operator share memory with the tensor that it views."""
    base = args[0]
    if isinstance(base, Tensor) and getattr(base._storage, "depth", 0) < VIEW_DEPTH:
        result._storage = View(result._storage.value, base, op, args[1:])


def _record(op: Kernel, entry: Any, args: tuple, inputs: list, arrays: list, live: int, traced: int) -> Any:
    """Run the operator and put it on the tape."""
    mask = live | traced
    gradient = entry.gradients.get((mask, signature(arrays)))
    residual = None
    hooks = modes.saved_hooks
    if op.save == "residuals" and hooks is None:  # hooks want to see what is saved
        if gradient is None:
            gradient = entry.gradient(mask, arrays)
        out, residual = gradient.run_forward(arrays)
        outs = out if type(out) is tuple else (out,)
    else:
        out = entry.run(*arrays)
        outs = out if type(out) is tuple else (out,)
        if gradient is None:
            gradient = entry.gradient(mask, arrays, outs)
    n = len(arrays)
    depth = 0
    edges = []
    for position in gradient.positions:
        item = inputs[position]
        node = item._node
        edges.append((node, item._index, not item._stop))
        if node.depth > depth:
            depth = node.depth
    if not live and (depth >= TRACE_DEPTH or any(o.size > TRACE_SIZE for o in outs)):
        return tuple([_make(o) for o in out]) if out is outs else _make(out)
    saved: list = []
    for i in gradient.needed:
        if i < n:
            item = inputs[i]
            array = arrays[i]
            if isinstance(item, Tensor):
                storage = item._storage
                # the slot would keep the array alive that a hook puts elsewhere
                saved.append((array, storage, storage.version) if hooks is None else (Packed(hooks, array), None, 0))
            else:
                saved.append((array, None, 0))
        else:
            array = outs[i - n]
            saved.append((array if hooks is None else Packed(hooks, array), None, 0))
    node = OpNode(gradient, tuple(edges), saved, len(outs), residual, mask, traced != 0)
    node.depth = depth + 1 if traced and not live else 0
    node.traced = not live
    stop = not live
    if out is not outs:
        if not gradient.differentiable[0]:
            return _make(out)
        result = _make(out, node, 0, stop)
        if op.view is not None:
            _share(result, op, args)
        return result
    return tuple(
        [_make(o, node, i, stop) if d else _make(o) for i, (o, d) in enumerate(zip(outs, gradient.differentiable))]
    )


def _key_of(arg: Any, role: str, inputs: list) -> Any:
    """The part of the key for an argument that is not simply a tensor or a small constant."""
    kind = arg.__class__
    if kind is Frozen:
        return arg
    if isinstance(arg, Tensor):  # where no tensor can be: read it out
        value = arg.tolist()
        return _key_of(value, role, inputs) if isinstance(value, list) else value
    if kind in (bool, float, complex):
        if role == "scalar":
            inputs.append(arg)
            return TENSOR
        return Static(arg)
    if isinstance(arg, np.generic):
        return _key_of(arg.item(), role, inputs) if arg.dtype.kind in "biufc" else _array_key(arg, role, inputs)
    if isinstance(arg, (np.ndarray, jax.Array)):
        return _array_key(arg, role, inputs)
    if isinstance(arg, (list, tuple)):
        if role == "static":
            return Static(
                tuple(int(a) if isinstance(a, (Tensor, np.integer)) else a for a in arg)
                if not _nested(arg)
                else _deep_tuple(arg)
            )
        if any(isinstance(a, (Tensor, np.ndarray)) or a.__class__ in (list, tuple) for a in arg):
            parts = []
            for a in arg:
                if isinstance(a, Tensor):
                    inputs.append(a)
                    parts.append(TENSOR)
                else:
                    parts.append(_key_of(a, role, inputs) if not (a is None or a.__class__ in (str, int)) else a)
            return Sequence(tuple(parts))
        return Static(tuple(a.item() if isinstance(a, np.generic) else a for a in arg))
    try:
        hash(arg)
    except TypeError:
        raise errors.TypeError_(
            f"an argument of type {kind.__name__} is not allowed here: {errors.describe(arg)}"
        ) from None
    return arg if kind is int else Static(arg)


def _nested(arg: Any) -> bool:
    return any(isinstance(a, (list, tuple)) for a in arg)


def _deep_tuple(arg: Any) -> Any:
    return (
        tuple(_deep_tuple(a) for a in arg)
        if isinstance(arg, (list, tuple))
        else int(arg)
        if isinstance(arg, (Tensor, np.integer))
        else arg
    )


def _array_key(arg: Any, role: str, inputs: list) -> Any:
    if role == "static":
        return _key_of(np.asarray(arg).tolist(), role, inputs)
    inputs.append(arg if isinstance(arg, jax.Array) else np.array(arg))  # a copy: the caller may change his
    return TENSOR


def _dispatch_specially(op: Kernel, args: tuple) -> Any:
    """The long way: mixed precision, program building, watchers, NaN checks, debug printing."""
    if Watch.forked:
        raise errors.RuntimeError_(
            f"{op.name}: this process was forked from one that already computed, and the compiler's "
            "threads did not come along; start it with multiprocessing's 'spawn' or 'forkserver'"
        )
    amp = modes.amp
    if amp is not None and op.view is None:  # a view of a cast copy would share memory with nothing
        substitute = amp.substitute(op, args)
        if substitute is not None:
            with set_mode(amp=None):
                return substitute(*args)
        args = amp.cast(op, args)
    if modes.program is not None:
        return modes.program.record(op, args)
    watcher = modes.watcher
    begin = getattr(watcher, "begin", None)
    if begin is not None:
        begin(op)
    out = _dispatch(op, args) if modes.segment is None else modes.segment.run(op, args)
    if watcher is not None:
        watcher(op, args, out)
    if Watch.on:
        watch(op, args, out)
    return out
