"""Reverse-mode differentiation: the tape and the walk over it.

Each recorded operator call is a node that knows the nodes its inputs came from (edges) and the arrays that its gradient
needs. `backward` and `grad` walk the nodes from the outputs in reverse order of creation, with a heap, so that every
node runs once, when its gradient is complete. With ``create_graph=True`` the gradients themselves are computed by
dispatched operators and recorded, which gives derivatives of any order.
"""

from __future__ import annotations

import contextlib
import functools
import heapq
from collections.abc import Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from . import errors
from .dispatch import dispatch
from .executable import TENSOR, Kernel
from .modes import modes
from .row_sparse import RowSparse, payload, wrap
from .row_sparse import add as add_rows
from .tape import Node
from .tensor import Tensor, _make

_add = Kernel(lambda x, y: x + y, "grad_add", ("", ""))


_ones = Kernel(lambda x: jnp.ones(x.shape, x.dtype), "ones_like", ("",))


def add_arrays(x: Any, y: Any) -> Any:
    if x.__class__ is RowSparse or y.__class__ is RowSparse:
        return add_rows(x, y)
    return _add.entry(TENSOR, TENSOR).run(x, y)


def add_tensors(x: Tensor, y: Tensor) -> Tensor:
    return dispatch(_add, (x, y))


def _walk(
    roots: list[tuple[Node, int, Any]],
    targets: set | None,
    blocked: set,
    create_graph: bool,
    retain: bool,
    live_only: bool,
    later: list | None = None,
) -> dict[tuple[Node, int], Any]:
    """Send gradients from the roots along the tape. Without targets, leaves accumulate; with targets, what arrives at
    them is returned and only the nodes between roots and targets run. What leads to parameters only goes into `later`."""
    found: dict[tuple[Node, int], Any] = {}
    useful = _useful(roots, targets, live_only) if targets is not None else None
    pending: dict[Node, list] = {}
    heap: list = []
    add, record = (add_tensors, dispatch) if create_graph else (add_arrays, None)

    def push(node: Node, index: int, gradient: Any) -> None:
        slots = pending.get(node)
        if slots is None:
            slots = pending[node] = [None] * node.n_outputs
            heapq.heappush(heap, (-node.seq, node))
        old = slots[index]
        if old is None:
            slots[index] = gradient
        else:
            slots[index] = add(old, gradient)

    for node, index, gradient in roots:
        push(node, index, gradient)
    while heap:
        node = heapq.heappop(heap)[1]
        gradients = pending.pop(node)
        if later is not None and node.leads_to_parameters():
            later.append((functools.partial(list, gradients), [(node, i, True) for i in range(node.n_outputs)]))
            continue
        if node.hooks and not (node.is_leaf and targets is not None):  # hooks of leaves are for what accumulates there
            _run_hooks(node, gradients, create_graph)
        if targets is not None:
            for index, gradient in enumerate(gradients):
                if (node, index) in targets and gradient is not None:
                    found[node, index] = gradient
            if node not in useful:  # type: ignore[operator]  # nothing that is wanted lies beyond
                continue
        elif node.is_leaf:
            if not node.is_source and gradients[0] is not None:
                node.accumulate(gradients[0], add)  # type: ignore[attr-defined]
            continue
        results = node.run(gradients, record, live_only) if later is None else node.run_inputs(gradients, later)
        for edge, result in zip(node.edges, results):
            if edge is None or result is None or (live_only and not edge[2]) or (edge[0], edge[1]) in blocked:
                continue
            if useful is not None and edge[0] not in useful and (edge[0], edge[1]) not in targets:  # type: ignore[operator]
                continue
            push(edge[0], edge[1], result)
        if not retain:
            node.free()
    return found


def _useful(roots: list, targets: set, live_only: bool) -> set[Node]:
    """The nodes from which a target can be reached."""
    goals = {node for node, _ in targets}
    seen: set[Node] = set()
    stack = [root[0] for root in roots]
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        stack.extend(e[0] for e in node.edges if e is not None and (e[2] or not live_only))
    useful: set[Node] = set()
    for node in sorted(seen, key=lambda n: n.seq):
        if any(e is not None and (e[2] or not live_only) and (e[0] in useful or e[0] in goals) for e in node.edges):
            useful.add(node)
    return useful


def _run_hooks(node: Node, gradients: list, create_graph: bool) -> None:
    for index, hooks in node.hooks.items():  # type: ignore[union-attr]
        if index >= len(gradients) or gradients[index] is None:
            continue
        for entry in list(hooks):
            gradient = gradients[index] if create_graph else wrap(gradients[index])
            result = entry[0](gradient)
            if result is None:
                result = gradient  # which the hook may have changed in place
            elif not isinstance(result, Tensor):
                raise errors.TypeError_(f"register_hook: a hook returns a Tensor or None, got {type(result).__name__}")
            elif payload(result).shape != payload(gradient).shape:
                raise errors.ValueError_(
                    f"register_hook: a hook of a gradient of shape {list(payload(gradient).shape)} returned one of shape "
                    f"{list(payload(result).shape)}"
                )
            gradients[index] = result if create_graph else payload(result)


@contextlib.contextmanager
def _walking(record: bool) -> Iterator[None]:
    """Recording on or off; mixed precision off, since gradients have the types of their tensors."""
    grad, amp = modes.grad, modes.amp
    modes.grad, modes.amp = record, None
    try:
        yield
    finally:
        modes.grad, modes.amp = grad, amp


@contextlib.contextmanager
def _finishing() -> Iterator[None]:
    """At the end of the outermost backward, call what its hooks put onto `modes.finishing`."""
    if modes.finishing is not None:
        yield
        return
    modes.finishing = []
    try:
        yield
        for function in modes.finishing:
            function()
    finally:
        modes.finishing = None


def _roots(tensors: Sequence[Tensor], gradients: Sequence, create_graph: bool, live_only: bool, what: str) -> list:
    roots: list = []
    for tensor, gradient in zip(tensors, gradients):
        if not isinstance(tensor, Tensor):
            raise errors.TypeError_(f"{what}: expected Tensors, got {type(tensor).__name__}")
        tensor, gradient = tensor._carrier, tensor._carried(gradient)
        value = tensor._raw
        if gradient is None:
            gradient = dispatch(_ones, (tensor,)) if modes.program is not None else _ones.entry(TENSOR).run(value)
        elif not isinstance(gradient, Tensor):
            raise errors.TypeError_(
                f"{what}: the gradient of a tensor is a Tensor or None, got {type(gradient).__name__}"
            )
        elif gradient._raw.shape != value.shape:
            raise errors.ValueError_(
                f"{what}: the gradient has shape {list(gradient.shape)}, its tensor {list(tensor.shape)}"
            )
        elif not create_graph:
            gradient = gradient._raw
        if create_graph and not isinstance(gradient, Tensor):
            gradient = _make(gradient)
        if gradient.dtype != (tensor.dtype if create_graph else value.dtype):
            gradient = gradient.astype(tensor.dtype if create_graph else value.dtype)
        if tensor._node is not None and (not tensor._stop or not live_only):
            roots.append((tensor._node, tensor._index, gradient))
    return roots


@errors.clean
def backward(
    tensors: Any, grad_tensors: Any = None, retain_graph: bool = False, *, dump_backward_graph_path: Any = None
) -> None:
    """Add the gradients of `tensors` to the `.grad` of the leaves that they were computed from (where nothing wants a
    gradient, nothing happens).

    Args:
        tensors: a Tensor or a list of Tensors.
        grad_tensors: their gradients, same shapes (None: ones), a list as long or None.
        retain_graph: keep what the tape saved.

    Raises:
        ValueError: lengths or shapes that do not fit.
        RuntimeError: the graph was released before, or a saved tensor was overwritten.

    Example:
        >>> x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
        >>> paddle.autograd.backward([x * 2, x * 3])
        >>> x.grad.tolist()
        [5.0, 5.0]
    """
    if dump_backward_graph_path is not None:
        raise errors.NotImplemented_("backward: dump_backward_graph_path")
    tensors = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    if grad_tensors is None:
        grad_tensors = [None] * len(tensors)
    elif isinstance(grad_tensors, Tensor):
        grad_tensors = [grad_tensors]
    if len(grad_tensors) != len(tensors):
        raise errors.ValueError_(f"backward: {len(tensors)} tensors but {len(grad_tensors)} gradients")
    building = modes.program is not None  # then gradients are tensors of the program
    roots = _roots(tensors, grad_tensors, building, True, "backward")
    with _walking(False), _finishing():
        _walk(roots, None, set(), building, retain_graph, True)
    if modes.capturing is not None:
        modes.capturing.pulled()
    if not building:
        _keep_pace(tensors[0]._carrier._raw)


def backward_of_inputs(tensors: Sequence[Tensor], grad_tensors: Sequence) -> list:
    """As `backward`, but computes nothing that only gradients of Parameters need: `backward_of_weights`, which gets what
    is returned, does that later (Qi et al., "Zero Bubble Pipeline Parallelism", 2024)."""
    later: list = []
    roots = _roots(tensors, grad_tensors, False, True, "backward")
    with _walking(False), _finishing():
        _walk(roots, None, set(), False, False, True, later)
    if modes.capturing is not None:
        modes.capturing.pulled()
    return later


def backward_of_weights(later: list) -> None:
    """The rest of `backward_of_inputs`."""
    with _walking(False), _finishing():
        roots = []
        for function, edges in later:
            roots += [(edge[0], edge[1], found) for edge, found in zip(edges, function()) if found is not None]
        later.clear()
        _walk(roots, None, set(), False, False, True)
    if modes.capturing is not None:
        modes.capturing.pulled()


def _keep_pace(loss: Any) -> None:
    """Wait for the loss of the backward before: Python that runs far ahead of the device fills its memory with work."""
    before, modes.pace = modes.pace, loss if loss.size == 1 else None
    before = getattr(before, "array", before)  # of a Deferred, None while it waits
    if isinstance(before, jax.Array) and not isinstance(before, jax.core.Tracer) and not before.is_deleted():
        before.block_until_ready()


@errors.clean
def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool = False,
    no_grad_vars: Any = None,
    *,
    dump_backward_graph_path: Any = None,
) -> list[Tensor | None]:
    """The gradients of `outputs` with respect to `inputs`; nothing is added to any `.grad`.

    Args:
        outputs, inputs: a Tensor or a list of Tensors. An input may have been made with stop_gradient=True by
            `paddle.to_tensor`: naming it here is an explicit wish.
        grad_outputs: gradients of the outputs (None: ones), a list as long as outputs, or one Tensor.
        retain_graph: keep what the tape saved; default: as `create_graph`.
        create_graph: record the computation of the gradients, for derivatives of higher order.
        only_inputs: must be True.
        allow_unused: give None for an input that the outputs do not depend on, instead of an error.
        no_grad_vars: tensors through which no gradient flows.

    Returns:
        A list, one gradient for each input, with its shape and dtype.

    Raises:
        ValueError: an input does not appear in the graph of the outputs, or shapes do not fit.

    Example:
        >>> x = paddle.to_tensor(2.0, stop_gradient=False)
        >>> first, = paddle.grad(x ** 3, x, create_graph=True)
        >>> second, = paddle.grad(first, x)
        >>> float(first), float(second)
        (12.0, 12.0)
    """
    if not only_inputs:
        raise errors.NotImplemented_("grad: only_inputs=False")
    if dump_backward_graph_path is not None:
        raise errors.NotImplemented_("grad: dump_backward_graph_path")
    outputs, inputs = _list(outputs, "outputs"), _list(inputs, "inputs")
    for group, what in ((outputs, "outputs"), (inputs, "inputs")):
        if not group or not all(isinstance(t, Tensor) for t in group):
            raise errors.TypeError_(f"grad: {what} must be a Tensor or a non-empty list of Tensors")
    gradients = [None] * len(outputs) if grad_outputs is None else _list(grad_outputs, "grad_outputs")
    if len(gradients) != len(outputs):
        raise errors.ValueError_(f"grad: {len(outputs)} outputs but {len(gradients)} grad_outputs")
    for t in inputs:
        t._carrier._raw  # stale views join the graph
    explicit = any(t._stop for t in inputs)
    record = create_graph or explicit or modes.program is not None
    retain = record if retain_graph is None else retain_graph
    blocked = {(t._node, t._index) for t in _list(no_grad_vars if no_grad_vars is not None else [], "no_grad_vars")}
    roots = _roots(outputs, gradients, record, not explicit, "grad")
    targets = {(t._node, t._index) for t in inputs if t._node is not None}
    with _walking(record):
        found = _walk(roots, targets, blocked, record, retain, not explicit)
    if modes.capturing is not None and not record:
        modes.capturing.pulled()
    results: list[Tensor | None] = []
    for i, t in enumerate(inputs):
        gradient = found.get((t._node, t._index)) if t._node is not None else None
        if gradient is None and not allow_unused:
            raise errors.ValueError_(
                f"grad: input {i} does not appear in the graph of the outputs (its stop_gradient may be True, or the "
                "outputs do not depend on it); pass allow_unused=True to get None for it"
            )
        if gradient is not None and not isinstance(gradient, Tensor):
            gradient = wrap(gradient)
        if gradient is not None and not create_graph and not gradient._stop:
            gradient = _make(gradient._raw, gradient._node, gradient._index, True)
        results.append(t._as_gradient(gradient))
    return results


def _list(value: Any, what: str) -> list:
    values = [value] if isinstance(value, Tensor) or value is None else value
    if not isinstance(values, (list, tuple)):
        raise errors.TypeError_(f"grad: {what} must be a Tensor or a list of Tensors, got {type(value).__name__}")
    return list(values)
