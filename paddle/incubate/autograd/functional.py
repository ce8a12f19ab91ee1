"""vjp, jvp, Jacobian and Hessian of a function of tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...autograd import functional as core
from ...engine import autograd as tape
from ...engine import errors
from ...engine.modes import enable_grad
from ...engine.tensor import Tensor
from ...ops.creation import ones_like, zeros_like
from ...ops.joining import concat


def _inputs(xs: Any, name: str) -> list[Tensor]:
    xs = list(xs) if isinstance(xs, (list, tuple)) else [xs]
    if not xs or not all(isinstance(x, Tensor) for x in xs):
        raise errors.TypeError_(f"{name}: xs must be a Tensor or a non-empty sequence of Tensors")
    copies = []
    for x in xs:
        if x._stop:
            x = x.detach()
            x.stop_gradient = False
        copies.append(x)
    return copies


def _vectors(v: Any, like: list[Tensor], name: str, what: str) -> list[Tensor]:
    if v is None:
        return [ones_like(t) for t in like]
    v = list(v) if isinstance(v, (list, tuple)) else [v]
    if len(v) != len(like) or any(list(a.shape) != list(b.shape) for a, b in zip(v, like)):
        raise errors.ValueError_(
            f"{name}: v must match the {what} in number and shape, got {errors.describe(v)} for {errors.describe(like)}"
        )
    return v


def _call(func: Callable, xs: list[Tensor]) -> tuple[Any, list[Tensor]]:
    with enable_grad():
        ys = func(*xs)
    return ys, list(ys) if isinstance(ys, (list, tuple)) else [ys]


def _like(values: list, structure: Any) -> Any:
    return type(structure)(values) if isinstance(structure, (list, tuple)) else values[0]


@errors.clean
def vjp(func: Callable, xs: Any, v: Any = None) -> tuple[Any, Any]:
    """The value of `func(*xs)` and the product of `v` with its Jacobian (reverse mode).

    Args:
        func: tensors -> tensor or sequence of tensors.
        xs: a Tensor or a sequence of Tensors.
        v: like the outputs; ones when None.

    Returns:
        (outputs, gradients like xs).

    Example:
        >>> ys, g = paddle.incubate.autograd.vjp(lambda x: x * x, paddle.to_tensor([1.0, 2.0]))
        >>> g.tolist()
        [2.0, 4.0]
    """
    inputs = _inputs(xs, "vjp")
    ys, outs = _call(func, inputs)
    found = tape.grad(outs, inputs, _vectors(v, outs, "vjp", "outputs"), create_graph=True, allow_unused=True)
    return ys, _like([zeros_like(x) if g is None else g for g, x in zip(found, inputs)], xs)


@errors.clean
def jvp(func: Callable, xs: Any, v: Any = None) -> tuple[Any, Any]:
    """The value of `func(*xs)` and the product of its Jacobian with `v` (the directional derivative).

    Args:
        func: tensors -> tensor or sequence of tensors.
        xs: a Tensor or a sequence of Tensors.
        v: like xs; ones when None.

    Returns:
        (outputs, derivatives like the outputs).

    Example:
        >>> ys, d = paddle.incubate.autograd.jvp(lambda x: x * x, paddle.to_tensor([1.0, 2.0]))
        >>> d.tolist()
        [2.0, 4.0]
    """
    inputs = _inputs(xs, "jvp")
    ys, outs = _call(func, inputs)
    return ys, _like(_forward(outs, inputs, _vectors(v, inputs, "jvp", "inputs")), ys)


def _forward(outs: list[Tensor], inputs: list[Tensor], v: list[Tensor]) -> list[Tensor]:
    """Directional derivatives by the transpose of the transpose: the gradient is linear in its weights w, so its
    product with v, differentiated with respect to w, is the Jacobian times v."""
    with enable_grad():
        weights = []
        for out in outs:
            w = ones_like(out).detach()
            w.stop_gradient = False
            weights.append(w)
        grads = tape.grad(outs, inputs, weights, create_graph=True, allow_unused=True)
        used = [(g, direction) for g, direction in zip(grads, v) if g is not None and not g.stop_gradient]
        if not used:
            return [zeros_like(out) for out in outs]
        found = tape.grad([g for g, _ in used], weights, [d for _, d in used], create_graph=True, allow_unused=True)
    return [zeros_like(out) if d is None else d for d, out in zip(found, outs)]


@errors.clean
def grad(outputs: Any, inputs: Any, grad_outputs: Any = None) -> Any:
    """Gradients of `outputs` with respect to `inputs`, in the structure of `inputs`; recorded for higher orders."""
    found = tape.grad(outputs, inputs, grad_outputs, create_graph=True)
    return _like(found, inputs)


@errors.clean
def forward_grad(outputs: Any, inputs: Any, grad_inputs: Any = None) -> Any:
    """Directional derivatives of `outputs` along `grad_inputs` (ones when None), like `outputs` (forward mode)."""
    outs = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
    ins = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
    return _like(_forward(outs, ins, _vectors(grad_inputs, ins, "forward_grad", "inputs")), outputs)


class Jacobian(core.Jacobian):
    """The Jacobian of `func` at `xs`: all outputs flattened against all inputs flattened, shape [M, N]; with
    `is_batched` the first axis of everything is a batch, shape [B, M, N]. Rows are computed when they are read.

    Example:
        >>> J = paddle.incubate.autograd.Jacobian(lambda x: x * x, paddle.to_tensor([1.0, 2.0]))
        >>> J[:].tolist()
        [[2.0, 0.0], [0.0, 4.0]]
    """

    def __init__(self, func: Callable, xs: Any, is_batched: bool = False):
        inputs = _inputs(xs, type(self).__name__)
        _, outs = _call(func, inputs)
        self._build(self._outputs(outs, inputs, is_batched), inputs, is_batched)

    def _outputs(self, outs: list[Tensor], inputs: list[Tensor], batched: bool) -> Tensor:
        return _flat(outs, batched)

    def _build(self, ys: Tensor, xs: list[Tensor], batched: bool) -> None:
        core.Jacobian.__init__(self, ys, xs, batched, flat=True)


class Hessian(Jacobian):
    """The Hessian of a scalar `func` (with `is_batched`: one number a batch element) at `xs`, shape [N, N] or [B, N, N].

    Raises ValueError when `func` gives more than one number."""

    def _outputs(self, outs: list[Tensor], inputs: list[Tensor], batched: bool) -> Tensor:
        y = _flat(outs, batched)
        if y.shape[-1] != 1:
            raise errors.ValueError_(
                f"Hessian: func must give one number{' a batch element' if batched else ''}, got {y.shape[-1]}"
            )
        with enable_grad():
            found = tape.grad(y.sum(), inputs, create_graph=True, allow_unused=True)
            return _flat([x * 0 if g is None else g for g, x in zip(found, inputs)], batched)


def _flat(tensors: list[Tensor], batched: bool) -> Tensor:
    with enable_grad():
        parts = [t.reshape([t.shape[0], -1] if batched else [-1]) for t in tensors]
        return parts[0] if len(parts) == 1 else concat(parts, axis=-1)
