"""Recomputation: trading time for memory in the backward pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...engine import errors
from ...engine.recomputation import Segment

__all__ = ["recompute", "recompute_hybrid", "recompute_sequential"]


@errors.clean
def recompute(function: Callable, *args: Any, **kwargs: Any) -> Any:
    """Call `function` without keeping its intermediate results; the backward pass computes them again.

    Results, gradients and random numbers are those of a plain call. What is repeated are the operators, not the Python
    code: statistics that the function updates move once.

    Args:
        function: a Layer or a function of tensors.
        args, kwargs: its arguments. `use_reentrant` and `preserve_rng_state` are accepted and not handed on: the random
            state is always kept and there is one way to recompute.

    Returns:
        What `function` returns.

    Raises:
        TypeError: `function` cannot be called.

    Source: Chen et al., "Training Deep Nets with Sublinear Memory Cost", 2016.

    Example:
        >>> block = paddle.nn.Sequential(paddle.nn.Linear(2, 4), paddle.nn.Tanh())
        >>> y = paddle.distributed.fleet.utils.recompute(block, paddle.ones([1, 2]))
        >>> y.sum().backward()
    """
    if not callable(function):
        raise errors.TypeError_(f"recompute: function must be a Layer or a function, got {errors.describe(function)}")
    for option in ("use_reentrant", "preserve_rng_state"):
        kwargs.pop(option, None)
    with Segment():
        return function(*args, **kwargs)


@errors.clean
def recompute_sequential(ctx: dict | None, functions: Any, *args: Any, **kwargs: Any) -> Any:
    """Call the layers of a Sequential one after the other, in segments that are recomputed each by itself.

    Args:
        ctx: a dict with "segments", the number of segments (default 1); "preserve_rng_state" is accepted.
        functions: a Sequential, or a list of Layers or functions, each called with what the one before returned.
        args, kwargs: the arguments of the first.

    Raises:
        ValueError: "segments" is not at least 1.

    Example:
        >>> net = paddle.nn.Sequential(*[paddle.nn.Linear(2, 2) for _ in range(4)])
        >>> from paddle.distributed.fleet.utils import recompute_sequential
        >>> recompute_sequential({"segments": 2}, net, paddle.ones([1, 2])).shape
        [1, 2]
    """
    segments = (ctx or {}).get("segments", 1)
    if isinstance(segments, bool) or not isinstance(segments, int) or segments < 1:
        raise errors.ValueError_(f"recompute_sequential: ctx['segments'] must be a positive int, got {segments!r}")
    layers = list(functions.children()) if hasattr(functions, "children") else list(functions)
    size = max(len(layers) // segments, 1)
    for start in range(0, len(layers), size):
        args = (recompute(_chain(layers[start : start + size]), *args, **kwargs),)
        kwargs = {}
    return args[0]


def _chain(layers: list) -> Callable:
    def run(*args: Any, **kwargs: Any) -> Any:
        out = layers[0](*args, **kwargs)
        for layer in layers[1:]:
            out = layer(out)
        return out

    return run


def recompute_hybrid(ctx: dict, function: Callable, *args: Any, **kwargs: Any) -> Any:
    """`recompute` for models that are split over devices ("mp_group" in `ctx`).

    Raises:
        NotImplementedError: "offload" or "partition" is asked for.

    Example:
        >>> from paddle.incubate.distributed.fleet import recompute_hybrid
        >>> recompute_hybrid({"mp_group": None}, paddle.nn.Linear(2, 2), paddle.ones([1, 2])).shape
        [1, 2]
    """
    for option in ("offload", "partition"):
        if ctx.get(option):
            raise errors.NotImplemented_(f"recompute_hybrid: {option}=True")
    return recompute(function, *args, **kwargs)
