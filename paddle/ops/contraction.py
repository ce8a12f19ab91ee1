"""Products of matrices and convolutions as two primitives that know their own derivatives, and what computes them.

Both are linear in each operand, and the transposes of each are of the same family: the gradients of a convolution are
again convolutions with a `kind`. So derivatives of any order, forward or reverse, stay primitives, and each is lowered
by what measured best: oneDNN on the CPU where `FASTER` says so, otherwise what XLA has. The choice falls where an
executable is made, so a traced function is the same everywhere, and an exported one holds nothing but StableHLO.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from ..engine import onednn
from ..engine.place import elsewhere
from ..ir import layout
from .convolution import convolve

# From how many multiply-adds oneDNN is so much faster than XLA that a call gains more than a tenth of a millisecond: XLA
# cannot keep executables with its calls on disk, so each process compiles them again. benchmarks/onednn.py measures each
# line, docs/performance.md has the figures. What is not listed stays with XLA.
FASTER = {
    ("float32", "matmul of stacks"): 2**24,
    ("bfloat16", "matmul"): 2**23,
    ("bfloat16", "matmul of stacks"): 2**23,
    ("float32", "convolution"): 2**21,
    ("bfloat16", "convolution"): 2**21,
    ("float32", "input gradient"): 2**21,
    ("bfloat16", "input gradient"): 2**21,
    ("float32", "weight gradient, windows"): 2**20,
    ("bfloat16", "weight gradient"): 2**26,
    ("bfloat16", "convolution, kernel of 1"): 2**23,
    ("bfloat16", "input gradient, kernel of 1"): 2**23,
    ("bfloat16", "weight gradient, kernel of 1"): 2**23,
    ("float32", "convolution, depthwise, channels last"): 2**18,
    ("bfloat16", "convolution, depthwise, channels last"): 2**18,
    ("float32", "input gradient, depthwise, channels last"): 2**18,
    ("bfloat16", "input gradient, depthwise, channels last"): 2**18,
    ("bfloat16", "input gradient, depthwise"): 2**20,
    ("float32", "weight gradient, depthwise"): 2**20,
    ("bfloat16", "weight gradient, depthwise"): 2**18,
}


def _faster(dtype: Any, what: str | None, multiplications: int) -> bool:
    return multiplications >= FASTER.get((np.dtype(dtype).name, what), math.inf)


# ---- primitives that are linear in both operands ----


def _primitive(name: str, shape: Callable, plain: Callable, chosen: Callable, transposes: tuple | None) -> Primitive:
    """A primitive of arrays of one type.

    Args:
        shape: the shape of the result, from the shapes of the operands and the parameters.
        plain: what it computes, from what XLA has.
        chosen: the form for oneDNN, or None where that is not faster.
        transposes: the rules that `ad.defbilinear` wants for two operands; None where nothing is differentiated.
    """
    primitive = Primitive(name)

    def abstract(*operands, **parameters):
        return jax.core.ShapedArray(shape(*(o.shape for o in operands), **parameters), operands[0].dtype)

    def lower(context, *operands, **parameters):
        form = chosen(*context.avals_in, **parameters) if _is_ours(context) else None
        if form is None or not onednn.works(context.avals_in[0].dtype):
            form = functools.partial(plain, **parameters)
        return mlir.lower_fun(form, multiple_results=False)(context, *operands)

    def lower_plainly(context, *operands, **parameters):
        return mlir.lower_fun(functools.partial(plain, **parameters), multiple_results=False)(context, *operands)

    def batch(operands, axes, **parameters):
        return jax.vmap(functools.partial(plain, **parameters), axes)(*operands), 0

    primitive.def_abstract_eval(abstract)
    primitive.def_impl(
        lambda *operands, **parameters: jax.jit(functools.partial(primitive.bind, **parameters))(*operands)
    )
    if transposes is not None:
        ad.defbilinear(primitive, *transposes)
    batching.primitive_batchers[primitive] = batch
    mlir.register_lowering(primitive, lower_plainly)
    mlir.register_lowering(primitive, lower, platform="cpu")
    return primitive


def _is_ours(context: Any) -> bool:
    """Whether a CPU of this process computes with whole arrays: nothing to be exported, nothing for XLA to split (inside of
    `shard_map` over all axes it has been split)."""
    module = context.module_context
    lowering = getattr(module, "lowering_parameters", None)
    axes = getattr(module, "axis_context", None)
    by_hand = getattr(axes, "manual_axes", None)
    whole = by_hand == frozenset(axes.mesh.axis_names) if by_hand else getattr(axes, "num_devices", None) == 1
    here = whole and tuple(module.platforms) == ("cpu",) and not elsewhere()
    return here and not getattr(lowering, "for_export", True)


def _bindable(*arrays: Any) -> bool:
    """Whether operands have plain types: known lengths, not split by a mesh."""
    for array in arrays:
        aval = jax.typeof(array)
        if not all(type(length) is int for length in aval.shape) or 0 in aval.shape or getattr(aval, "vma", None):
            return False
        if any(axis is not None for axis in getattr(getattr(aval, "sharding", None), "spec", ())):
            return False
    return all(array.dtype == arrays[0].dtype for array in arrays)


# ---- products ----


def matmul(x: Any, y: Any, transpose_x: bool = False, transpose_y: bool = False) -> Any:
    """The product of matrices, or of stacks of matrices whose leading axes broadcast; 1-D operands as `jnp.matmul`."""
    if x.ndim > 1 and y.ndim > 1 and _bindable(x, y):
        rows = y.ndim == 2 and x.ndim > 2 and not transpose_x  # of one matrix
        if rows or x.shape[:-2] == y.shape[:-2]:
            a = x.reshape(-1, x.shape[-1]) if rows else x
            if _matmul_form(a, y, bool(transpose_x), bool(transpose_y)) is not None:
                out = _matmul.bind(a, y, transpose_x=bool(transpose_x), transpose_y=bool(transpose_y))
                return out.reshape(*x.shape[:-1], out.shape[-1]) if rows else out
    return _plain_matmul(x, y, transpose_x, transpose_y)


def _plain_matmul(x, y, transpose_x, transpose_y):
    x = x.swapaxes(-1, -2) if transpose_x and x.ndim > 1 else x
    y = y.swapaxes(-1, -2) if transpose_y and y.ndim > 1 else y
    return jnp.matmul(x, y)


def _matmul_shape(x, y, transpose_x, transpose_y):
    return (*x[:-2], x[-1 if transpose_x else -2], y[-2 if transpose_y else -1])


def _matmul_form(x, y, transpose_x, transpose_y):
    multiplications = (
        math.prod(_matmul_shape(x.shape, y.shape, transpose_x, transpose_y)) * x.shape[-2 + (not transpose_x)]
    )
    if not _faster(x.dtype, "matmul" if x.ndim == 2 else "matmul of stacks", multiplications):
        return None
    return functools.partial(onednn.matmul, transpose_x=transpose_x, transpose_y=transpose_y)


def _matmul_by_x(g, x, y, transpose_x, transpose_y):
    if transpose_x:
        return _matmul.bind(y, g, transpose_x=transpose_y, transpose_y=True)
    return _matmul.bind(g, y, transpose_x=False, transpose_y=not transpose_y)


def _matmul_by_y(g, x, y, transpose_x, transpose_y):
    if transpose_y:
        return _matmul.bind(g, x, transpose_x=True, transpose_y=transpose_x)
    return _matmul.bind(x, g, transpose_x=not transpose_x, transpose_y=False)


_matmul = _primitive("matmul", _matmul_shape, _plain_matmul, _matmul_form, (_matmul_by_x, _matmul_by_y))


# ---- convolutions ----

KINDS = ("convolution", "input gradient", "weight gradient")


class Geometry(NamedTuple):
    """How the windows of a convolution lie: a number, or a pair for `pads`, for each spatial axis.

    Args:
        last: whether the channels of x and of the result come last, not second.
        lengths: the spatial shape of x.
        kernel: the spatial shape of w.
    """

    stride: tuple[int, ...]
    pads: tuple[tuple[int, int], ...]
    dilation: tuple[int, ...]
    groups: int
    last: bool
    lengths: tuple[int, ...]
    kernel: tuple[int, ...]

    @property
    def outs(self) -> tuple[int, ...]:
        """The spatial shape of the result."""
        axes = zip(self.lengths, self.pads, self.dilation, self.kernel, self.stride)
        return tuple((l + sum(p) - d * (k - 1) - 1) // s + 1 for l, p, d, k, s in axes)


def convolution(x: Any, w: Any, geometry: Geometry) -> Any:
    """The convolution of x with w [out, C / groups, kernel]."""
    bind = x.dtype.name in onednn.TYPES and _bindable(x, w)
    return _convolution("convolution", x, w, geometry) if bind else _plain_convolution(x, w, "convolution", geometry)


def input_gradient(g: Any, w: Any, geometry: Geometry) -> Any | None:
    """The transposed convolution, the gradient of `convolution` by x for a cotangent g; None for types without one."""
    bind = g.dtype.name in onednn.TYPES and _bindable(g, w)
    return _convolution("input gradient", g, w, geometry) if bind else None


def _line(kind: str, geometry: Geometry, out: int, each: int, batch: int, dtype: Any) -> str | None:
    """The line of `FASTER` for a convolution with so many output channels and channels in each group, or a gradient."""
    groups = geometry.groups
    if kind == "input gradient" and max(geometry.stride) > 1 and (groups == 1 or max(geometry.dilation) > 1):
        return None
    if groups > 1 and each == 1 and out == groups:
        return f"{kind}, depthwise" + ", channels last" * (geometry.last and kind != "weight gradient")
    if max(geometry.kernel) == groups == 1:
        return f"{kind}, kernel of 1"
    if kind == "weight gradient" and groups == 1 and dtype == jnp.float32:
        return f"{kind}, windows" if each == 1 or batch * math.prod(geometry.outs) <= 2 * out else None
    if kind == "weight gradient" and (groups > 1 or each < 16 or math.prod(geometry.outs) < 128):
        return None  # the shifted windows would cost more than their products
    return None if kind == "convolution" and each == 1 else kind  # XLA has a sum of shifted products there


def _convolution(kind: str, a: Any, b: Any, geometry: Geometry) -> Any:
    return _conv.bind(a, b, kind=kind, geometry=geometry)


def _plain_convolution(a, b, kind, geometry):
    def forward(x, w):
        return convolve(x, w, geometry.stride, geometry.pads, geometry.dilation, geometry.groups, geometry.last)

    if kind == "convolution":
        return forward(a, b)
    shape = _conv_shape(a.shape, b.shape, kind, geometry)
    like = jnp.zeros(shape, a.dtype)
    if kind == "input gradient":
        return jax.vjp(lambda x: forward(x, b), like)[1](a)[0]
    return jax.vjp(lambda w: forward(a, w), like)[1](b)[0]


def _conv_shape(a, b, kind, geometry):
    if kind == "weight gradient":
        channels = a[-1 if geometry.last else 1]
        return (b[-1 if geometry.last else 1], channels // geometry.groups, *geometry.kernel)
    spatial, channels = (geometry.outs, b[0]) if kind == "convolution" else (geometry.lengths, b[1] * geometry.groups)
    return (a[0], *spatial, channels) if geometry.last else (a[0], channels, *spatial)


def _conv_by_a(ct, a, b, kind, geometry):
    if kind == "convolution":
        return _convolution("input gradient", ct, b, geometry)
    if kind == "input gradient":
        return _convolution("convolution", ct, b, geometry)
    return _convolution("input gradient", b, ct, geometry)


def _conv_by_b(ct, a, b, kind, geometry):
    if kind == "convolution":
        return _convolution("weight gradient", a, ct, geometry)
    if kind == "input gradient":
        return _convolution("weight gradient", ct, a, geometry)
    return _convolution("convolution", a, ct, geometry)


def _conv_form(a, b, kind, geometry):
    """How oneDNN computes it, as a function of the operands; None where XLA is as fast."""
    form = {"convolution": _forward, "input gradient": _by_input, "weight gradient": _by_weight}[kind]
    weights = _conv_shape(a.shape, b.shape, kind, geometry) if kind == "weight gradient" else b.shape
    work = math.prod(weights) * math.prod(geometry.outs) * a.shape[0]
    if not _faster(a.dtype, _line(kind, geometry, *weights[:2], a.shape[0], a.dtype), work):
        return None
    return functools.partial(_around, form, kind, geometry)


def _around(form, kind, geometry, a, b):
    """The form, which has channels last, for operands in either layout."""
    if geometry.last:
        return form(a, b, geometry)
    a = jnp.moveaxis(a, 1, -1)
    if kind == "weight gradient":
        return form(a, jnp.moveaxis(b, 1, -1), geometry)
    return jnp.moveaxis(form(a, b, geometry), -1, 1)


def _forward(x, w, geometry):
    return onednn.convolve(x, w, geometry.stride, geometry.pads, geometry.dilation, geometry.groups)


def _by_input(g, w, geometry):
    """A convolution of the cotangent, spread by the stride, with the kernel from its end."""
    n, groups, kernel = len(geometry.kernel), geometry.groups, geometry.kernel
    edges = []
    for k, d, s, l, o, (before, _) in zip(
        kernel, geometry.dilation, geometry.stride, geometry.lengths, geometry.outs, geometry.pads
    ):
        reach = d * (k - 1)
        edges.append((reach - before, l + before - (o - 1) * s - 1))
    inside = [(min(low, 0), min(high, 0), s - 1) for (low, high), s in zip(edges, geometry.stride)]
    if any(c != (0, 0, 0) for c in inside):
        g = jax.lax.pad(g, jnp.zeros((), g.dtype), [(0, 0, 0), *inside, (0, 0, 0)])
    pads = [(max(low, 0), max(high, 0)) for low, high in edges]
    around = w.size > 4 * g.size  # then everything else is turned round, not the kernel
    if around:
        g, pads = jnp.flip(g, range(1, n + 1)), [(high, low) for low, high in pads]
    else:
        w = jnp.flip(w, range(2, n + 2))
    if groups > 1:
        w = w.reshape(groups, -1, w.shape[1], *kernel).swapaxes(1, 2).reshape(groups * w.shape[1], -1, *kernel)
    found = onednn.convolve(g, w, (1,) * n, pads, geometry.dilation, groups, exchanged=groups == 1)
    return jnp.flip(found, range(1, n + 1)) if around else found


def _by_weight(x, g, geometry):
    if geometry.groups > 1:
        return _depthwise_by_weight(x, g, geometry)
    windows, rows = _windows(x, geometry), g.reshape(-1, g.shape[-1])
    if g.dtype == jnp.float32:  # one product with all windows side by side; the barriers keep copies out of its loops
        side = jax.lax.optimization_barrier(jnp.concatenate(windows, 1))
        found = jax.lax.optimization_barrier(rows.T) @ side
        return found.reshape(-1, len(windows), x.shape[-1]).swapaxes(1, 2).reshape(-1, x.shape[-1], *geometry.kernel)
    parts = [onednn.matmul(rows, window, True) for window in windows]
    return jnp.stack(parts, -1).reshape(*parts[0].shape, *geometry.kernel)


def _windows(x: Any, geometry: Geometry) -> list:
    """For each element of the kernel what it meets, [positions, C]."""
    config = [(0, 0, 0)] * x.ndim
    for axis, (pads, d, k, s, l, o) in enumerate(
        zip(geometry.pads, geometry.dilation, geometry.kernel, geometry.stride, geometry.lengths, geometry.outs), 1
    ):
        config[axis] = (pads[0], (o - 1) * s + d * (k - 1) + 1 - l - pads[0], 0)
    x = jax.lax.pad(x, jnp.zeros((), x.dtype), config)
    found = []
    for at in np.ndindex(*geometry.kernel):
        axes = zip(at, geometry.dilation, geometry.stride, geometry.outs)
        window = x[(slice(None), *(slice(i * d, i * d + (o - 1) * s + 1, s) for i, d, s, o in axes))]
        found.append(window.reshape(-1, x.shape[-1]))
    return found


def _depthwise_by_weight(x, g, geometry):
    """Each channel of each example is convolved with its cotangent as the kernel; then the sum over the examples."""
    n, batch, channels = len(geometry.kernel), x.shape[0], x.shape[-1]
    x = jnp.moveaxis(x, 0, n).reshape(1, *geometry.lengths, batch * channels)
    g = jnp.moveaxis(g, (0, n + 1), (0, 1)).reshape(batch * channels, 1, *geometry.outs)
    found = onednn.convolve(x, g, geometry.dilation, geometry.pads, geometry.stride, batch * channels)
    found = found[(0, *(slice(k) for k in geometry.kernel))].reshape(-1, batch, channels)
    summed = found.astype(jnp.float32).sum(1).astype(x.dtype)
    return summed.T.reshape(channels, 1, *geometry.kernel)


_conv = _primitive("convolution", _conv_shape, _plain_convolution, _conv_form, (_conv_by_a, _conv_by_b))


# ---- within programs (see `ir.layout`): channels last, and what follows a convolution done with its result ----


@layout.rule("convolution")
def _channels_last(given: list, equation: Any) -> Any:
    kind, geometry = equation.params["kind"], equation.params["geometry"]
    if geometry.last:
        return None
    inside = geometry._replace(last=True)
    a, b = given[0].in_order(True), given[1].in_order(kind == "weight gradient")
    if kind == "weight gradient":
        return layout.Held(_convolution(kind, a, b, inside))
    if equation.outvars[0].aval.shape[1] < layout.FEWEST:
        return layout.Held(layout.Held(last=_convolution(kind, a, b, inside)).in_order(False))
    if kind == "convolution":
        return layout.Held(pending=Pending(a, b, inside))
    return layout.Held(last=_convolution(kind, a, b, inside))


class Pending(NamedTuple):
    """A convolution, channels last, that is computed when its result is read: relu(x * w + bias + residual)."""

    x: Any
    w: Any
    geometry: Geometry
    bias: Any = None
    residual: Any = None
    relu: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        return _conv_shape(self.x.shape, self.w.shape, "convolution", self.geometry)

    def with_bias(self, bias: Any) -> Pending | None:
        if self.bias is not None or self.residual is not None or self.relu or bias.dtype != self.x.dtype:
            return None
        return self._replace(bias=bias)

    def with_residual(self, residual: Any) -> Pending | None:
        if self.residual is not None or self.relu or residual.dtype != self.x.dtype or residual.shape != self.shape:
            return None
        return self._replace(residual=residual)

    def with_relu(self) -> Pending:
        return self._replace(relu=True)

    def result(self) -> Any:
        if self.bias is None and self.residual is None and not self.relu:
            return _convolution("convolution", self.x, self.w, self.geometry)
        extra = {"bias": self.bias, "residual": self.residual}
        names = tuple(n for n, a in extra.items() if a is not None)
        operands = (self.x, self.w, *(extra[n] for n in names))
        return _fused.bind(*operands, names=names, relu=self.relu, geometry=self.geometry)


def _plainly_fused(x, w, *extra, names, relu, geometry):
    out = _plain_convolution(x, w, "convolution", geometry)
    for array in extra:
        out = out + array
    return jnp.maximum(out, 0) if relu else out


def _fused_form(x, w, *extra, names, relu, geometry):
    if _conv_form(x, w, "convolution", geometry) is None:
        return None

    def form(x, w, *extra):
        more = dict(zip(names, extra))
        g = geometry
        return onednn.convolve(x, w, g.stride, g.pads, g.dilation, g.groups, relu=relu, **more)

    return form


def _fused_shape(x, w, *extra, names, relu, geometry):
    return _conv_shape(x, w, "convolution", geometry)


_fused = _primitive("fused_convolution", _fused_shape, _plainly_fused, _fused_form, None)
