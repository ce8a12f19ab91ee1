"""Python functions as operators of a program, and functions with gradients of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...engine import errors
from ...engine.modes import modes
from ...engine.tensor import Tensor, _make
from ...engine.value import Value
from ...ir.record import HostKernel

__all__ = ["py_func", "static_pylayer"]


def _list(value: Any) -> list:
    return [] if value is None else list(value) if isinstance(value, (list, tuple)) else [value]


def _host(function: Callable, name: str, inputs: list, outputs: list[Value]) -> list[Tensor]:
    """Record a call of a Python function of arrays, whose results have the types of `outputs`."""

    def call(*tensors: Tensor) -> Any:
        found = _list(function(*tensors))
        if len(found) < len(outputs):
            raise errors.ValueError_(f"{name}: the function must return {len(outputs)} results, got {len(found)}")
        return tuple(
            _make(np.asarray(f._value if isinstance(f, Tensor) else f).astype(o.dtype)) for f, o in zip(found, outputs)
        )

    def infer(specs: list, trial: int, *rest: Any) -> list:
        return [(o.trials[trial], o.dtype) for o in outputs]

    kernel = HostKernel(call, name, ("",) * len(inputs), infer, effect=True)
    kernel.differentiable = False
    return list(modes.program.record(kernel, tuple(inputs)))


@errors.clean
def py_func(
    func: Callable, x: Any, out: Any, backward_func: Callable | None = None, skip_vars_in_backward_input: Any = None
) -> Any:
    """Call a Python function whenever the program runs.

    Args:
        func: gets the values of `x`, Tensors that NumPy reads; returns arrays for `out`.
        x: a variable, or a list of them.
        out: variables made with `create_var` (of the block) that say shape and type of what comes out, and become it;
            None when nothing does.
        backward_func: gets the values of `x`, of `out` and the gradients of `out`; returns the gradients of `x`.
        skip_vars_in_backward_input: variables of `x` and `out` that `backward_func` does not get.

    Returns:
        `out`.

    Raises:
        TypeError: arguments that are no functions, no variables.
    """
    if not callable(func):
        raise errors.TypeError_(f"py_func: func must be callable, got {errors.describe(func)}")
    if backward_func is not None and not callable(backward_func):
        raise errors.TypeError_(f"py_func: backward_func must be callable, got {errors.describe(backward_func)}")
    inputs, outs = _list(x), _list(out)
    if not all(isinstance(t, Tensor) for t in [*inputs, *outs]):
        raise errors.TypeError_("py_func: x and out must be variables or lists of variables")
    if modes.program is None:
        found = _list(func(*inputs))
        for o, f in zip(outs, found):
            o.set_value(f)
        return out
    kinds = [modes.program.value_of(o) for o in outs]
    if backward_func is None:
        made = _host(func, "py_func", [t.detach() for t in inputs], kinds)
    else:
        skipped = {id(t) for t in _list(skip_vars_in_backward_input)}
        made = _with_backward(func, backward_func, inputs, outs, kinds, skipped)
    for o, result in zip(outs, made):
        value = result._value
        name = o.name
        o._rebind(result)
        value.name = name
    return out


def _with_backward(
    func: Callable, backward_func: Callable, inputs: list, outs: list, kinds: list[Value], skipped: set[int]
) -> list[Tensor]:
    from ...autograd import PyLayer

    shown = [id(t) not in skipped for t in [*inputs, *outs]]

    class PyFunc(PyLayer):
        @staticmethod
        def forward(ctx, *tensors):
            made = _host(func, "py_func", list(tensors), kinds)
            ctx.seen = [t for t, s in zip([*tensors, *made], shown) if s]
            return tuple(made)

        @staticmethod
        def backward(ctx, *gradients):
            values = [modes.program.value_of(t) for t in inputs]
            return tuple(_host(backward_func, "py_func_grad", [*ctx.seen, *gradients], values))

    return list(PyFunc.apply(*inputs))


@errors.clean
def static_pylayer(
    forward_fn: Callable, inputs: Any, backward_fn: Callable | None = None, name: str | None = None
) -> Any:
    """What `forward_fn` computes of the inputs, with a gradient that `backward_fn` computes of the gradients.

    Args:
        forward_fn: a function of the inputs.
        inputs: a list of variables.
        backward_fn: one gradient for each result comes in, one for each input goes out; None: no gradient flows.

    Raises TypeError for what is no function.

    Example:
        >>> with paddle.static.program_guard(paddle.static.Program()):
        ...     x = paddle.static.data("x", [2])
        ...     y = paddle.static.nn.static_pylayer(lambda x: x * 2, [x], lambda g: g * 3)
    """
    from ...autograd import PyLayer

    for argument, function in (("forward_fn", forward_fn), ("backward_fn", backward_fn)):
        if not callable(function) and not (function is None and argument == "backward_fn"):
            raise errors.TypeError_(f"static_pylayer: {argument} must be callable, got {errors.describe(function)}")
    if backward_fn is None:
        return forward_fn(*[t.detach() for t in inputs])

    class StaticPyLayer(PyLayer):
        @staticmethod
        def forward(ctx, *tensors):
            return forward_fn(*tensors)

        @staticmethod
        def backward(ctx, *gradients):
            return backward_fn(*gradients)

    return StaticPyLayer.apply(*inputs)
