"""Matrix products in 8-bit floating point, the operands in e4m3, the gradients in e5m2.

A tensor is multiplied by a power of two before it is rounded, so that its largest value lands near the end of the range
(Micikevicius et al., "FP8 Formats for Deep Learning", arXiv 2209.05433). For products with a parameter the scale is
delayed: it comes from the largest values that the last calls saw, so that measuring and rounding are one pass. The
product is written as widened operands times their scales: where the hardware has 8-bit units the compiler turns that
into one 8-bit product, elsewhere the same numbers are multiplied in the wider type.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from ..autograd.py_layer import PyLayer
from ..engine import dtype as dtypes
from ..engine import errors
from ..engine.dtype import DType
from ..engine.executable import Kernel
from ..engine.modes import modes
from ..engine.op import op
from ..engine.parameter import Parameter
from ..engine.place import get_device
from ..engine.tape import Packed
from ..engine.tensor import Tensor, _make

HISTORY = 16  # calls that a delayed scale looks back
E4M3, E5M2 = (jnp.float8_e4m3fn, 448.0), (jnp.float8_e5m2, 57344.0)

fp8_op = functools.partial(op, method=False, export=False)


def largest(x: Any) -> Any:
    """The largest absolute value, float32; 0 where it is not finite, so that one overflow spoils no later scale."""
    found = jnp.max(jnp.abs(x), initial=0).astype(jnp.float32)
    return jnp.where(jnp.isfinite(found), found, 0)


def scale_of(amax: Any, limit: float) -> Any:
    """The largest power of two that keeps amax times it within the limit."""
    usable = amax > 0
    _, exponent = jnp.frexp(limit / jnp.where(usable, amax, 1))
    return jnp.where(usable, jnp.ldexp(jnp.float32(1), jnp.clip(exponent - 1, -100, 100)), 1)


def quantise(x: Any, scale: Any, kind: tuple) -> Any:
    """x * scale in 8 bits, saturating; infinity becomes NaN and so is not lost."""
    dtype, limit = kind
    y = jnp.clip(x.astype(jnp.float32) * scale, -limit, limit)
    return jnp.where(jnp.isinf(x), jnp.nan, y).astype(dtype)


def widen(q: Any, scale: Any, wide: Any) -> Any:
    return q.astype(wide) * (1 / scale).astype(wide)


def _round(x: Any, kind: tuple, wide: Any) -> Any:
    """x as 8 bits see it, with the scale of its own largest value."""
    scale = scale_of(largest(x), kind[1])
    return widen(quantise(x, scale, kind), scale, wide)


def _measure(x: Any, history: Any, fresh: bool, kind: tuple) -> tuple:
    """(scale, the history with x in it); the scale is that of x itself while there is no history."""
    amax = largest(x)
    scale = scale_of(amax if fresh else jnp.max(history), kind[1])
    return scale, jnp.concatenate([amax[None], history[:-1]])


# ---- products with a parameter ----


@fp8_op(differentiable=False)
def fp8_linear(x, weight, bias, x_history, weight_history, fresh, transposed, low, wide):
    """(x @ weight + bias, x and weight in 8 bits, their scales, their histories)"""
    x_scale, x_history = _measure(x, x_history, fresh, E4M3)
    w_scale, weight_history = _measure(weight, weight_history, fresh, E4M3)
    xq, wq = quantise(x, x_scale, E4M3), quantise(weight, w_scale, E4M3)
    w = widen(wq, w_scale, wide)
    y = jnp.matmul(widen(xq, x_scale, wide), w.T if transposed else w)
    if bias is not None:
        y = y + bias.astype(y.dtype)
    return y.astype(low), xq, wq, jnp.stack([x_scale, w_scale]), x_history, weight_history


@fp8_op(differentiable=False)
def fp8_linear_grad(g, xq, wq, scales, history, fresh, transposed, wide, x_type, weight_type, bias_type):
    """(gradients of x, weight and bias, None where the type is None; the history of g)"""
    scale, history = _measure(g, history, fresh, E5M2)
    gw = widen(quantise(g, scale, E5M2), scale, wide)
    grads = []
    if x_type is not None:
        w = widen(wq, scales[1], wide)
        grads.append(jnp.matmul(gw, w if transposed else w.T).astype(x_type))
    if weight_type is not None:
        rows, columns = widen(xq, scales[0], wide).reshape(-1, xq.shape[-1]), gw.reshape(-1, gw.shape[-1])
        grads.append((columns.T @ rows if transposed else rows.T @ columns).astype(weight_type))
    if bias_type is not None:
        grads.append(jnp.sum(g.reshape(-1, g.shape[-1]).astype(jnp.float32), 0).astype(bias_type))
    return (*grads, history)


class Scaling:
    """What a parameter remembers: the largest values of inputs, of itself and of the gradients of the products."""

    def __init__(self) -> None:
        self.inputs, self.weight, self.gradient = (_make(jnp.zeros(HISTORY, jnp.float32)) for _ in range(3))
        self.called = self.called_back = False


class _Linear(PyLayer):
    """x @ weight + bias with delayed scales."""

    @staticmethod
    def forward(ctx, x, weight, bias, transposed, low):
        scaling = weight.__dict__.get("_fp8")
        if scaling is None:
            scaling = weight.__dict__["_fp8"] = Scaling()
        wide = _wide()
        out, *kept, inputs, own = fp8_linear(
            x, weight, bias, scaling.inputs, scaling.weight, not scaling.called, transposed, low.name, wide
        )
        scaling.inputs._storage.write(inputs._value)
        scaling.weight._storage.write(own._value)
        scaling.called = True
        hooks = modes.saved_hooks
        ctx.kept = kept if hooks is None else [Packed(hooks, t._value) for t in kept]
        ctx.scaling, ctx.transposed, ctx.wide = scaling, transposed, wide
        ctx.types = [None if t is None or t._stop else t.dtype.name for t in (x, weight, bias)]
        ctx.with_bias = bias is not None
        return out

    @staticmethod
    def backward(ctx, g):
        if modes.grad:
            raise errors.NotImplemented_("the second derivative of a product in 8 bits with delayed scales")
        scaling = ctx.scaling
        kept = [_make(t.unpack()) if isinstance(t, Packed) else t for t in ctx.kept]
        *grads, history = fp8_linear_grad(
            g, *kept, scaling.gradient, not scaling.called_back, ctx.transposed, ctx.wide, *ctx.types
        )
        scaling.gradient._storage.write(history._value)
        scaling.called_back = True
        found = iter(grads)
        return tuple(None if t is None else next(found) for t in ctx.types[: 2 + ctx.with_bias])


# ---- products of two computed tensors ----


def _product_gradient(inputs, outputs, cotangents, transpose_x, transpose_y, low, wide):
    x, y = (_round(a, E4M3, wide) for a in inputs)
    out, pull = jax.vjp(lambda a, b: _matmul(a, b, transpose_x, transpose_y), x, y)
    return pull(_round(cotangents[0], E5M2, wide).astype(out.dtype))


@fp8_op(gradient=_product_gradient)
def fp8_product(x, y, transpose_x, transpose_y, low, wide):
    """x @ y, each rounded to 8 bits with the scale of its own largest value."""
    return _matmul(_round(x, E4M3, wide), _round(y, E4M3, wide), transpose_x, transpose_y).astype(low)


def _matmul(x: Any, y: Any, transpose_x: bool, transpose_y: bool) -> Any:
    return jnp.matmul(x.mT if transpose_x else x, y.mT if transpose_y else y)


# ---- which product a call becomes ----

_FLOATS = frozenset((dtypes.float32, dtypes.float16, dtypes.bfloat16))


def _wide() -> str:
    """What operands are widened to: bfloat16 holds every scaled 8-bit value; processors are faster with float32."""
    return "float32" if get_device().startswith("cpu") else "bfloat16"


def substitute(op: Kernel, args: tuple, low: DType) -> Callable | None:
    """The 8-bit form of a call, None where there is none."""
    if op.name not in ("linear", "matmul"):
        return None
    x, y = args[:2]
    if not (isinstance(x, Tensor) and isinstance(y, Tensor) and x.dtype in _FLOATS and y.dtype in _FLOATS):
        return None
    if op.name == "linear":
        bias, flip_x, flip_y = args[2], False, False
    else:
        bias, flip_x, flip_y = None, bool(args[2]), bool(args[3])
    m, n = x._raw.shape, y._raw.shape
    if len(m) < 2 or len(n) < 2 or (m[-2] if flip_x else m[-1]) != (n[-1] if flip_y else n[-2]):
        return None
    fits = bias is None or bias._raw.shape == (n[not flip_y],)
    if isinstance(y, Parameter) and len(n) == 2 and not flip_x and fits:
        return lambda *_: _Linear.apply(x, y, bias, flip_y, low)
    if bias is None and all(a == b or 1 in (a, b) for a, b in zip(m[-3::-1], n[-3::-1])):
        return lambda *_: fp8_product(x, y, flip_x, flip_y, low.name, _wide())
    return None
