"""Operators with a backward written by the user."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp

from ..engine import errors
from ..engine.dtype import from_numpy
from ..engine.modes import modes, set_mode
from ..engine.tape import Node
from ..engine.tensor import Tensor, _make


class PyLayerContext:
    """Carries what `forward` keeps for `backward`; other attributes can be set freely."""

    container: Any = None
    not_inplace_tensors: tuple = ()
    non_differentiable: tuple = ()
    materialize_grads = True
    grad_in_dtype_consistent = True

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep tensors for `backward`, where `saved_tensor()` returns them."""
        self.container = tensors

    def saved_tensor(self) -> Any:
        """What `save_for_backward` kept, a tuple."""
        return self.container

    @property
    def saved_tensors(self) -> Any:
        return self.container

    def mark_not_inplace(self, *tensors: Tensor) -> None:
        """Name inputs that `forward` returns as they are; outputs are always tensors of their own here."""
        self.not_inplace_tensors = tensors

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Name outputs through which no gradient flows."""
        self.non_differentiable = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """False: `backward` gets None, not zeros, for an output without a gradient."""
        self.materialize_grads = value

    def set_grad_in_dtype_consistent(self, flag: bool) -> None:
        """False: `backward` gets gradients in the type they arrive in, not cast to the types of the outputs."""
        self.grad_in_dtype_consistent = flag


class PyLayerNode(Node):
    """The tape node of one call of a PyLayer."""

    __slots__ = ("kind", "context", "specs", "shapes", "live", "n_outputs")

    def __init__(self, kind: type, context: PyLayerContext, inputs: list[Tensor], specs: list):
        self.live = [not t._stop and t._node is not None for t in inputs]
        super().__init__(tuple((t._node, t._index, True) if live else None for t, live in zip(inputs, self.live)))
        self.kind, self.context, self.specs = kind, context, specs
        self.shapes = [t._raw.shape for t in inputs]
        self.n_outputs = len(specs)

    @property
    def name(self) -> str:  # type: ignore[override]
        return self.kind.__name__

    def free(self) -> None:
        self.context = None
        self.freed = True

    def run(self, cotangents: list, record: Callable | None, live_only: bool) -> Sequence[Any]:
        if self.context is None:
            raise errors.RuntimeError_(
                f"{self.name}: backward through the same graph a second time; what it saved was "
                "released. Pass retain_graph=True to the first backward or grad"
            )
        given = []
        for c, spec in zip(cotangents, self.specs):
            if c is None:
                given.append(_make(jnp.zeros(*spec)) if self.context.materialize_grads else None)
            else:
                c = c if record is not None else _make(c)
                wanted = from_numpy(spec[1])
                given.append(c.astype(wanted) if self.context.grad_in_dtype_consistent and c.dtype is not wanted else c)
        with set_mode(grad=record is not None):
            found = self.kind.backward(self.context, *given)
        found = list(found) if isinstance(found, (tuple, list)) else [found]
        n = len(self.edges)
        if len(found) != n:
            if len(found) == sum(self.live) and n > len(found):  # the gradients of the inputs that want one
                source = iter(found)
                found = [next(source) if live else None for live in self.live]
            else:
                raise errors.ValueError_(
                    f"{self.name}.backward: forward had {n} tensors as inputs, backward returned {len(found)} gradients"
                )
        results: list[Any] = []
        for i, gradient in enumerate(found):
            if gradient is not None and not isinstance(gradient, Tensor):
                raise errors.TypeError_(
                    f"{self.name}.backward: gradient {i} must be a Tensor or None, got {type(gradient).__name__}"
                )
            if gradient is not None and gradient._raw.shape != self.shapes[i] and gradient.is_dense():
                raise errors.ValueError_(
                    f"{self.name}.backward: gradient {i} has shape {list(gradient.shape)}, the input of forward "
                    f"{list(self.shapes[i])}"
                )
            results.append(gradient if record is not None or gradient is None else gradient._value)
        return results


class PyLayer(PyLayerContext):
    """An operator with its own backward: subclass it with two static methods and call `apply`.

    `forward(ctx, ...)` computes the outputs (nothing in it is recorded); `backward(ctx, *grads)` gets one gradient for
    each output tensor and returns one for each tensor among the inputs of `forward` (None where there is none). When
    `backward` is made of differentiable operations, derivatives of higher order work as well.

    Example:
        >>> class Double(paddle.autograd.PyLayer):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         return x * 2
        ...     @staticmethod
        ...     def backward(ctx, g):
        ...         return g * 2
        >>> x = paddle.ones([2]); x.stop_gradient = False
        >>> Double.apply(x).sum().backward(); x.grad.tolist()
        [2.0, 2.0]
    """

    @staticmethod
    def forward(ctx: PyLayerContext, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError("a PyLayer defines forward(ctx, ...)")

    @staticmethod
    def backward(ctx: PyLayerContext, *args: Any) -> Any:
        raise NotImplementedError("a PyLayer defines backward(ctx, ...)")

    def name(self) -> str:
        """The name of the operator: that of the class."""
        return type(self).__name__

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run `forward`; the outputs carry the custom gradient.

        Raises:
            TypeError: `forward` returned no tensor.
        """
        context = PyLayerContext()
        inputs = [t for a in (*args, *kwargs.values()) for t in _tensors(a)]
        with set_mode(grad=False):
            out = cls.forward(context, *args, **kwargs)
        outs = list(out) if isinstance(out, (tuple, list)) else [out]
        found = [o for o in outs if isinstance(o, Tensor)]
        if not found:
            raise errors.TypeError_(
                f"{cls.__name__}.forward: at least one output must be a Tensor, got {errors.describe(out)}"
            )
        if not modes.grad or not any(not t._stop and t._node is not None for t in inputs):
            return out
        node = PyLayerNode(cls, context, inputs, [(o._raw.shape, o._raw.dtype) for o in found])
        fixed = {id(t) for t in context.non_differentiable}
        known = {id(t) for t in inputs}
        index, results = 0, []
        for o in outs:
            if isinstance(o, Tensor):
                connected = _make(o._value) if id(o) in known else o
                if id(o) not in fixed and o.dtype.is_differentiable:
                    connected._node, connected._index, connected._stop = node, index, False
                index += 1
                o = connected
            results.append(o)
        return type(out)(results) if isinstance(out, (tuple, list)) else results[0]


EagerPyLayer = PyLayer


def _tensors(value: Any) -> list[Tensor]:
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, (list, tuple)):
        return [t for v in value for t in _tensors(v)]
    if isinstance(value, dict):
        return [t for v in value.values() for t in _tensors(v)]
    return []
