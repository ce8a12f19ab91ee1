"""Channels last inside of a program: values that flow between convolutions keep the order of axes that these compute in.

`channels_last` rewrites a traced function. The result of a convolution stays [N, spatial, C] through elementwise
operations, reductions, slices and padding, whose axes are renamed; it is turned back where something else reads it. So
of the transpositions around each convolution only those at the borders remain. It works on what is left after
differentiation, so the backward pass and the update of the parameters are treated like the forward pass.
"""

from __future__ import annotations

import collections
import functools
from collections.abc import Callable, Iterable
from typing import Any

import jax
import numpy as np
from jax.extend.core import Literal
from jax.interpreters.partial_eval import DynamicJaxprTracer

from ..engine.compile import REWRITES

# What a primitive with axes does to values whose channels are last: (arrays, order, parameters) -> result; see `_rule`.
RULES: dict[str, Callable] = {}

FEWEST = 16  # channels that fill a vector; values with fewer are handled faster in their own order

ELEMENTWISE = frozenset(
    """abs acos acosh add add_any and asin asinh atan atan2 atanh cbrt ceil clamp convert_element_type copy copy_p cos
    cosh div eq erf erf_inv erfc exp exp2 expm1 floor ge gt imag integer_pow is_finite le log log1p logistic lt max min
    mul ne neg nextafter not or pow real reduce_precision rem round rsqrt select_n sign sin sinh sqrt square
    stop_gradient sub tan tanh xor""".split()
)
_CALLS = {"jit": "jaxpr", "pjit": "jaxpr", "closed_call": "call_jaxpr", "core_call": "call_jaxpr"}
_CALLS |= {"custom_jvp_call": "call_jaxpr", "custom_vjp_call": "call_jaxpr", "remat2": "jaxpr", "checkpoint": "jaxpr"}


def order(ndim: int) -> tuple[int, ...]:
    """The axes of a value in the order in which channels are last."""
    return (0, *range(2, ndim), 1)


def permuted(items: Any) -> tuple:
    """What is given for each axis, in the order of the axes with channels last."""
    return tuple(items[i] for i in order(len(items)))


class Held:
    """A value in one or both orders of its axes.

    Args:
        plain, last: the arrays, as far as they are there.
        make: for values that are as cheap in either order: gives the array, from whether channels are last.
        channel: the values for each channel, of which the array consists.
        pending: a computation (with channels last) that can take over what is done with its result; see
            `ops.contraction.Pending`.
    """

    __slots__ = ("plain", "last", "make", "prefers", "channel", "pending")

    def __init__(
        self,
        plain: Any = None,
        last: Any = None,
        make: Callable | None = None,
        channel: Any = None,
        pending: Any = None,
    ):
        self.plain, self.last, self.make, self.channel, self.pending = plain, last, make, channel, pending
        self.prefers = plain is None and make is None  # channels last

    def in_order(self, last: bool) -> Any:
        if self.pending is not None:
            self.last, self.pending = self.pending.result(), None
        found = self.last if last else self.plain
        if found is None:
            if self.make is not None:
                found = self.make(last)
            else:
                other = self.plain if last else self.last
                axes = order(np.ndim(other))
                found = _transposed(other, axes if last else tuple(np.argsort(axes)))
            if last:
                self.last = found
            else:
                self.plain = found
        return found


def _transposed(x: Any, axes: tuple[int, ...]) -> Any:
    moved = [a for a in axes if x.shape[a] != 1]
    if moved == sorted(moved):  # only axes of one element move
        return jax.lax.reshape(x, [x.shape[a] for a in axes])
    return jax.lax.transpose(x, axes)


def channels_last(function: Callable) -> Callable:
    """The function with channels last inside; arguments and results keep their order of axes."""

    @functools.wraps(function)
    def call(*args):
        flat = jax.tree_util.tree_leaves(args)
        if any(map(_transformed, flat)):
            return function(*args)
        closed, shapes = jax.make_jaxpr(function, return_shape=True)(*args)
        if any(map(_transformed, closed.consts)):
            return function(*args)
        if not _has_convolution(closed.jaxpr):
            outs = jax.core.eval_jaxpr(closed.jaxpr, closed.consts, *flat)
        else:
            outs = [h.in_order(False) for h in _evaluate(closed.jaxpr, closed.consts, [Held(a) for a in flat])]
        return jax.tree_util.tree_unflatten(jax.tree_util.tree_structure(shapes), outs)

    return call


def inside(operators: Iterable[Any], function: Callable) -> Callable:
    """The function that runs operators, with channels last where there are convolutions among them."""
    return channels_last(function) if any("conv" in o.name for o in operators) else function


REWRITES.append(inside)


def _transformed(x: Any) -> bool:
    """Whether a value is being differentiated or mapped: then functions with rules of their own must stay whole."""
    return isinstance(x, jax.core.Tracer) and not isinstance(x, DynamicJaxprTracer)


def _inner(equation: Any) -> Any:
    name = _CALLS.get(equation.primitive.name)
    found = None if name is None else equation.params.get(name)
    return found if found is not None and hasattr(found, "jaxpr") else None


def _has_convolution(jaxpr: Any) -> bool:
    for equation in jaxpr.eqns:
        inner = _inner(equation)
        if equation.primitive.name == "convolution" or inner is not None and _has_convolution(inner.jaxpr):
            return True
    return False


def _evaluate(jaxpr: Any, constants: Any, arguments: list[Held]) -> list[Held]:
    known = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*map(Held, constants), *arguments]))
    last_reader = {v: i for i, e in enumerate(jaxpr.eqns) for v in e.invars if not isinstance(v, Literal)}
    kept = {v for v in jaxpr.outvars if not isinstance(v, Literal)}
    readers = collections.Counter(v for e in jaxpr.eqns for v in e.invars if not isinstance(v, Literal))
    readers.update(kept)

    def read(atom: Any) -> Held:
        return Held(atom.val) if isinstance(atom, Literal) else known[atom]

    for i, equation in enumerate(jaxpr.eqns):
        given = [read(a) for a in equation.invars]
        for v, found in zip(equation.outvars, _apply(equation, given)):
            if found.pending is not None and readers[v] > 1:
                found.in_order(True)
            known[v] = found
        for v in equation.invars:
            if not isinstance(v, Literal) and last_reader[v] == i and v not in kept:
                known.pop(v, None)
    return [read(v) for v in jaxpr.outvars]


def _apply(equation: Any, given: list[Held]) -> list[Held]:
    inner = _inner(equation)
    if inner is not None:
        return _evaluate(inner.jaxpr, inner.consts, given)
    name, primitive, params = equation.primitive.name, equation.primitive, equation.params
    shape = getattr(equation.outvars[0].aval, "shape", ())
    if name == "broadcast_in_dim" and len(shape) > 2 and len(given) == 1:
        return [_broadcast(given[0], equation.invars[0].aval, shape, primitive, params)]
    if name == "reshape" and len(shape) > 2 and not given[0].prefers and sum(n != 1 for n in shape) < 2:
        value = given[0].in_order(False)
        channel = value.reshape(-1) if shape[1] == value.size > 1 else None
        return [Held(make=lambda last: jax.lax.reshape(value, permuted(shape) if last else shape), channel=channel)]
    taken = _taken_over(name, given, equation)
    if taken is not None:
        return [Held(pending=taken)]
    rule = RULES.get(name)
    if rule is not None and (name == "convolution" or given[0].prefers):
        found = rule(given, equation)
        if found is not None:
            return [found]
    if name in ELEMENTWISE and any(h.prefers for h in given):
        arrays = [h.in_order(True) if np.ndim(a.aval) else h.in_order(False) for h, a in zip(given, equation.invars)]
        return [Held(last=primitive.bind(*arrays, **_for_order(params, arrays)))]
    if name in ELEMENTWISE and len(given) == 1 and given[0].make is not None:  # as cheap in either order as its operand
        operand = given[0]
        return [Held(make=lambda last: primitive.bind(operand.in_order(last), **params))]
    found = primitive.get_bind_params(params)
    functions, params = (
        found if isinstance(found, tuple) else ((), found)
    )  # newer releases of JAX have no functions here
    outs = primitive.bind(*functions, *(h.in_order(False) for h in given), **params)
    return [Held(o) for o in (outs if primitive.multiple_results else [outs])]


def _taken_over(name: str, given: list[Held], equation: Any) -> Any | None:
    """The pending computation of an operand with this operation in it, None where that is not possible."""
    if name not in ("add", "max") or equation.invars[0] is equation.invars[1]:
        return None
    for held, other, atom in zip(given, given[::-1], equation.invars[::-1]):
        if held.pending is None:
            continue
        if name == "max":
            found = held.pending.with_relu() if isinstance(atom, Literal) and atom.val == 0 else None
        elif other.channel is not None:
            found = held.pending.with_bias(other.channel)
        else:
            found = held.pending.with_residual(other.in_order(True)) if np.ndim(atom.aval) > 2 else None
        if found is not None:
            return found
    return None


def _for_order(params: dict, arrays: list) -> dict:
    return {**params, "sharding": None} if params.get("sharding") is not None else params


def _broadcast(operand: Held, aval: Any, shape: tuple, primitive: Any, params: dict) -> Held:
    axes = params["broadcast_dimensions"]
    places = order(len(shape))

    def make(last: bool) -> Any:
        if not last:
            return primitive.bind(operand.in_order(False), **params)
        if len(axes) == len(shape):
            value, where = operand.in_order(True), axes
        else:
            where = tuple(places.index(a) for a in axes)
            value = operand.in_order(False)
            turned = tuple(int(i) for i in np.argsort(where))
            value, where = _transposed(value, turned), tuple(where[i] for i in turned)
        return jax.lax.broadcast_in_dim(value, permuted(shape), where)

    channel = None
    lengths = {axis: n for axis, n in zip(axes, aval.shape) if n != 1}
    if set(lengths) == {1} and lengths[1] == shape[1]:
        channel = operand.channel if operand.channel is not None else operand.in_order(False).reshape(-1)
    return Held(make=make, channel=channel)


# ---- primitives with axes ----


def rule(*names: str) -> Callable:
    """Register a rule: (held operands, equation) -> the result, or None where the plain order is wanted."""

    def add(function: Callable) -> Callable:
        RULES.update(dict.fromkeys(names, function))
        return function

    return add


def _place(ndim: int, axis: int) -> int:
    return order(ndim).index(axis)


@rule("slice")
def _slice(given: list[Held], equation: Any) -> Held:
    names = ("start_indices", "limit_indices", "strides")
    changed = {n: None if equation.params[n] is None else permuted(equation.params[n]) for n in names}
    return Held(last=equation.primitive.bind(given[0].in_order(True), **changed))


@rule("pad")
def _pad(given: list[Held], equation: Any) -> Held:
    config = permuted(equation.params["padding_config"])
    return Held(last=equation.primitive.bind(given[0].in_order(True), given[1].in_order(False), padding_config=config))


@rule("rev")
def _reverse(given: list[Held], equation: Any) -> Held:
    x = given[0].in_order(True)
    return Held(last=jax.lax.rev(x, [_place(x.ndim, a) for a in equation.params["dimensions"]]))


@rule("concatenate")
def _concatenate(given: list[Held], equation: Any) -> Held:
    arrays = [h.in_order(True) for h in given]
    return Held(last=jax.lax.concatenate(arrays, _place(arrays[0].ndim, equation.params["dimension"])))


@rule("cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp")
def _cumulative(given: list[Held], equation: Any) -> Held:
    x = given[0].in_order(True)
    return Held(last=equation.primitive.bind(x, **{**equation.params, "axis": _place(x.ndim, equation.params["axis"])}))


@rule("reduce_sum", "reduce_max", "reduce_min", "reduce_prod", "reduce_and", "reduce_or", "argmax", "argmin")
def _reduce(given: list[Held], equation: Any) -> Held:
    x, axes = given[0].in_order(True), equation.params["axes"]
    places = tuple(sorted(_place(x.ndim, a) for a in axes))
    found = equation.primitive.bind(x, **_without_sharding({**equation.params, "axes": places}))
    left = [a for a in order(x.ndim) if a not in axes]
    return Held(_transposed(found, tuple(int(i) for i in np.argsort(left))))


@rule("squeeze")
def _squeeze(given: list[Held], equation: Any) -> Held:
    x, axes = given[0].in_order(True), equation.params["dimensions"]
    found = jax.lax.squeeze(x, [_place(x.ndim, a) for a in axes])
    left = [a for a in order(x.ndim) if a not in axes]
    return Held(_transposed(found, tuple(int(i) for i in np.argsort(left))))


@rule("reshape")
def _reshape(given: list[Held], equation: Any) -> Held | None:
    x, shape = given[0].in_order(True), equation.outvars[0].aval.shape
    if equation.params.get("dimensions") is not None or any(n != 1 for n in x.shape[1:-1]):
        return None  # more than the channels stay, in another order
    return Held(jax.lax.reshape(x, shape))


@rule("transpose")
def _transpose(given: list[Held], equation: Any) -> Held:
    x = given[0].in_order(True)
    axes = tuple(_place(x.ndim, a) for a in equation.params["permutation"])
    return Held(x if axes == tuple(range(x.ndim)) else jax.lax.transpose(x, axes))


_WINDOW = ("window_dimensions", "window_strides", "padding", "base_dilation", "window_dilation")


@rule("reduce_window_max", "reduce_window_min", "reduce_window_sum")
def _reduce_window(given: list[Held], equation: Any) -> Held:
    changed = {n: permuted(v) if n in _WINDOW else v for n, v in equation.params.items()}
    return Held(last=equation.primitive.bind(given[0].in_order(True), **changed))


def _without_sharding(params: dict) -> dict:
    return {**params, "out_sharding": None} if params.get("out_sharding") is not None else params
