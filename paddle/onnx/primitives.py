"""Traced functions as nodes of ONNX: what every operator without a row of its own is made of.

An operator's body is traced to primitives of JAX, for each of which there is a rule here. What depends on constants only
is computed at once, and a broadcast stays undone as long as what reads it broadcasts by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import jax
import numpy as np
from jax.extend.core import ClosedJaxpr

from .writer import Ref, Unsupported, Writer, count, is_open

__all__ = ["RULES", "inline", "rule"]

FOLDED = 1 << 20  # elements of constants that are computed in advance

RULES: dict[str, Callable] = {}
_BROADCASTS: set[str] = set()  # primitives whose rule takes operands that are not broadcast yet


def rule(*names: str, broadcasts: bool = False) -> Callable:
    """Make a function (writer, equation, *operands) the translation of primitives. Operands are Refs, or arrays where they
    are constant; it returns the name of the result, or a list."""

    def add(function: Callable) -> Callable:
        for name in names:
            RULES[name] = function
            if broadcasts:
                _BROADCASTS.add(name)
        return function

    return add


def inline(g: Writer, jaxpr: Any, constants: Iterable[Any], operands: Iterable[Any]) -> list[Any]:
    """The results of a jaxpr on Refs and arrays, of the shapes that it says."""
    known: dict[Any, Any] = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*map(np.asarray, constants), *operands]))

    def read(atom: Any) -> Any:
        return np.asarray(atom.val, atom.aval.dtype) if hasattr(atom, "val") else known[atom]

    for equation in jaxpr.eqns:
        outs = _translated(g, equation, [read(a) for a in equation.invars])
        known.update(zip(equation.outvars, outs))
    return [_whole(g, read(v), v.aval.shape) for v in jaxpr.outvars]


def _translated(g: Writer, equation: Any, operands: list) -> list:
    name = equation.primitive.name
    inner = _inner(equation)
    avals = [v.aval for v in equation.outvars]
    if all(not is_open(a.shape) and 0 in a.shape for a in avals):  # no elements: nothing to compute
        return [np.zeros(a.shape, a.dtype) for a in avals]
    if inner is not None:
        given = [_whole(g, x, v.aval.shape) for x, v in zip(operands, equation.invars)]
        called = _FUNCTIONS.get(equation.params.get("name", ""))
        outs = None if called is None else called(g, equation, *given)
        if outs is None:
            return inline(g, inner.jaxpr, inner.consts, given[-len(inner.jaxpr.invars) or len(given) :])
    else:
        folded = _folded(equation, operands)
        if folded is not None:
            return folded
        if name not in RULES:
            raise Unsupported(f"the primitive {name} of JAX")
        if name not in _BROADCASTS:
            operands = [_whole(g, x, v.aval.shape) for x, v in zip(operands, equation.invars)]
        outs = RULES[name](g, equation, *operands)
    outs = outs if isinstance(outs, list) else [outs]
    return [x if isinstance(x, (Ref, np.ndarray)) else _ref(x, v.aval) for x, v in zip(outs, equation.outvars)]


def _ref(name: str, aval: Any) -> Ref:
    return Ref(name, aval.shape, aval.dtype)


def _inner(equation: Any) -> Any:
    """The function that an equation only calls."""
    if equation.primitive.name not in _CALLS:
        return None
    for name in ("jaxpr", "call_jaxpr", "fun_jaxpr"):
        found = equation.params.get(name)
        if found is not None:
            return found if isinstance(found, ClosedJaxpr) else ClosedJaxpr(found, ())
    return None


_CALLS = frozenset(
    "jit pjit closed_call core_call remat remat2 checkpoint custom_jvp_call custom_vjp_call custom_vjp_call_jaxpr".split()
)


def _folded(equation: Any, operands: list) -> list | None:
    """The results where all operands are constants."""
    if not all(isinstance(x, np.ndarray) for x in operands) or equation.primitive.name in ("while", "scan", "cond"):
        return None
    if any(is_open(v.aval.shape) or count(v.aval.shape) > FOLDED for v in equation.outvars):
        return None
    try:
        with jax.ensure_compile_time_eval():
            full = [np.broadcast_to(x, v.aval.shape) for x, v in zip(operands, equation.invars)]
            found = equation.primitive.bind(*full, **equation.params)
    except Exception:  # parameters that hold open lengths
        return None
    return [np.asarray(x) for x in (found if equation.primitive.multiple_results else [found])]


def _whole(g: Writer, x: Any, shape: tuple) -> Any:
    """An operand with the broadcast done that was left to its readers."""
    if isinstance(x, np.ndarray):
        if x.shape == tuple(shape):
            return x
        if not is_open(shape) and count(shape) <= FOLDED:
            return np.broadcast_to(x, shape)
        return Ref(g.expand(g.constant(x), shape), shape, x.dtype)
    if not isinstance(x, Ref) or x.shape == tuple(shape):
        return x
    return Ref(g.expand(x, shape), shape, x.dtype)


# ---- elementwise ----


def _joined(*operands: Any) -> tuple:
    """The shape of a result of operands that broadcast."""
    shapes = [x.shape for x in operands]
    rank = max(map(len, shapes))
    found: list[Any] = []
    for lengths in zip(*[(1,) * (rank - len(s)) + tuple(s) for s in shapes]):
        found.append(next((n for n in lengths if not (isinstance(n, int) and n == 1)), 1))
    return tuple(found)


def _lift(function: Callable) -> Callable:
    """A rule of an elementwise function (writer, equation, *operands) -> name."""

    def translate(g: Writer, equation: Any, *operands: Any) -> Ref:
        return Ref(function(g, equation, *operands), _joined(*operands), equation.outvars[0].aval.dtype)

    return translate


def elementwise(*names: str) -> Callable:
    return lambda function: rule(*names, broadcasts=True)(_lift(function))


for _pair in """add:Add add_any:Add sub:Sub mul:Mul div:Div neg:Neg exp:Exp log:Log tanh:Tanh sin:Sin cos:Cos tan:Tan
    asin:Asin acos:Acos atan:Atan sinh:Sinh cosh:Cosh asinh:Asinh acosh:Acosh atanh:Atanh sqrt:Sqrt abs:Abs floor:Floor
    ceil:Ceil logistic:Sigmoid erf:Erf sign:Sign eq:Equal""".split():
    _name, _kind = _pair.split(":")
    elementwise(_name)(lambda g, e, *xs, kind=_kind: g(kind, *xs))

for _pair in "lt:Less le:LessOrEqual gt:Greater ge:GreaterOrEqual lt_to:Less le_to:LessOrEqual".split():
    _name, _kind = _pair.split(":")
    elementwise(_name)(lambda g, e, *xs, kind=_kind: g(kind, *_counted(g, e, *xs)))


def _counted(g: Writer, e: Any, *operands: Any) -> list:
    """Truth values as numbers, for operators that only take these."""
    return [g.cast(x, np.int32) if v.aval.dtype == np.bool_ else x for x, v in zip(operands, e.invars)]


elementwise("ne")(lambda g, e, x, y: g("Not", g("Equal", x, y)))


@elementwise("max", "min")
def _extreme(g: Writer, e: Any, x: Any, y: Any) -> str:
    if e.outvars[0].aval.dtype == np.bool_:
        return g("Or" if e.primitive.name == "max" else "And", x, y)
    if e.primitive.name == "max" and isinstance(y, np.ndarray) and y.dtype.kind == "f" and y.size == 1 and not y.any():
        return g("Relu", x)
    return g("Max" if e.primitive.name == "max" else "Min", x, y)


@elementwise("and", "or", "xor", "not")
def _logical(g: Writer, e: Any, *xs: Any) -> str:
    kind = e.primitive.name.capitalize()
    if e.outvars[0].aval.dtype == np.bool_:
        return g(kind, *xs)
    if g.opset < 18:
        raise Unsupported(f"bitwise {kind.lower()} before opset 18")
    return g("Bitwise" + kind, *xs)


@elementwise("shift_left", "shift_right_logical", "shift_right_arithmetic")
def _shift(g: Writer, e: Any, x: Any, y: Any) -> str:
    dtype = e.outvars[0].aval.dtype
    if dtype.kind == "u":
        return g("BitShift", x, y, direction="LEFT" if e.primitive.name == "shift_left" else "RIGHT")
    if e.primitive.name == "shift_right_logical":
        raise Unsupported("logical shifts of signed integers")
    power = g("Pow", np.asarray(2, dtype), y)
    if e.primitive.name == "shift_left":
        return g("Mul", x, power)
    return g("Div", g("Sub", x, g("Mod", x, power)), power)


@elementwise("pow")
def _pow(g: Writer, e: Any, x: Any, y: Any) -> str:
    return g("Pow", x, y)


@elementwise("integer_pow")
def _integer_pow(g: Writer, e: Any, x: Any) -> str:
    n, dtype = e.params["y"], e.outvars[0].aval.dtype
    if n == 2:
        return g("Mul", x, x)
    if n == -1:
        return g("Reciprocal", x) if dtype.kind == "f" else g("Div", np.ones((), dtype), x)
    return g("Pow", x, np.asarray(n, dtype))


elementwise("square")(lambda g, e, x: g("Mul", x, x))
elementwise("rsqrt")(lambda g, e, x: g("Reciprocal", g("Sqrt", x)))
elementwise("cbrt")(lambda g, e, x: g("Mul", g("Sign", x), g("Pow", g("Abs", x), np.asarray(1 / 3, _type(e)))))
elementwise("exp2")(lambda g, e, x: g("Pow", np.asarray(2, _type(e)), x))
elementwise("log1p")(lambda g, e, x: g("Log", g("Add", x, np.asarray(1, _type(e)))))
elementwise("expm1")(lambda g, e, x: g("Sub", g("Exp", x), np.asarray(1, _type(e))))
elementwise("erfc")(lambda g, e, x: g("Sub", np.asarray(1, _type(e)), g("Erf", x)))
elementwise("convert_element_type")(lambda g, e, x: g.cast(x, e.params["new_dtype"]))
elementwise("copy", "copy_p", "stop_gradient", "reduce_precision", "optimization_barrier")(lambda g, e, x: x)


def _type(e: Any) -> np.dtype:
    return e.outvars[0].aval.dtype


@elementwise("is_finite")
def _is_finite(g: Writer, e: Any, x: Any) -> str:
    wide = g.cast(x, np.float32) if e.invars[0].aval.dtype.itemsize < 4 else x
    return g("Not", g("Or", g("IsInf", wide), g("IsNaN", x)))


@elementwise("round")
def _round(g: Writer, e: Any, x: Any) -> str:
    if int(e.params["rounding_method"]) == 1:
        return g("Round", x)
    half = np.asarray(0.5, _type(e))
    return g("Mul", g("Sign", x), g("Floor", g("Add", g("Abs", x), half)))


@elementwise("rem")
def _rem(g: Writer, e: Any, x: Any, y: Any) -> str:
    return g("Mod", x, y, fmod=1)


@elementwise("atan2")
def _atan2(g: Writer, e: Any, y: Any, x: Any) -> str:
    zero, pi = np.asarray(0, _type(e)), np.asarray(np.pi, _type(e))
    base = g("Atan", g("Div", y, x))
    turned = g("Where", g("Less", y, zero), g("Sub", base, pi), g("Add", base, pi))
    upright = g("Mul", g("Sign", y), np.asarray(np.pi / 2, _type(e)))
    return g("Where", g("Equal", x, zero), upright, g("Where", g("Less", x, zero), turned, base))


@elementwise("select_n")
def _select(g: Writer, e: Any, which: Any, *cases: Any) -> str:
    if e.invars[0].aval.dtype == np.bool_:
        if _type(e) == np.bool_:  # runtimes lack it
            return g("Or", g("And", which, cases[1]), g("And", g("Not", which), cases[0]))
        return g("Where", which, cases[1], cases[0])
    out = cases[-1]
    for i in range(len(cases) - 2, -1, -1):
        out = g("Where", g("Equal", which, np.asarray(i, e.invars[0].aval.dtype)), cases[i], out)
    return out


@elementwise("clamp")
def _clamp(g: Writer, e: Any, low: Any, x: Any, high: Any) -> str:
    if low.shape == high.shape == ():
        return g("Clip", x, low, high)
    return g("Min", g("Max", x, low), high)


# ---- shapes ----


@rule("broadcast_in_dim", broadcasts=True)
def _broadcast(g: Writer, e: Any, x: Any, *lengths: Any) -> Any:
    """Only new axes of length 1: who reads it broadcasts."""
    shape, axes = e.params["shape"], e.params["broadcast_dimensions"]
    held = e.invars[0].aval.shape
    if x.shape != held and len(x.shape) < len(held):
        x = _whole(g, x, held)
    full = [1] * len(shape)
    for axis, n in zip(axes, x.shape):
        full[axis] = n
    if x.ndim == 0:
        return x
    first = next((i for i in range(len(full)) if i in axes), len(full))
    new = [i for i in range(first, len(full)) if i not in axes]  # leading ones come by themselves
    if not new:
        return x
    if isinstance(x, np.ndarray):
        return np.expand_dims(x, [i - first for i in new])
    return Ref(g.unsqueeze(x, *[i - first for i in new]), full[first:], x.dtype)


@rule("reshape")
def _reshape(g: Writer, e: Any, x: Any, *lengths: Any) -> Any:
    return g.reshape(x, e.invars[0].aval.shape, e.outvars[0].aval.shape)


rule("squeeze")(lambda g, e, x: g.squeeze(x, *e.params["dimensions"]))
rule("expand_dims")(lambda g, e, x: g.unsqueeze(x, *e.params["dimensions"]))
rule("transpose")(lambda g, e, x: g.transpose(x, e.params["permutation"]))
rule("stack")(lambda g, e, *xs: g("Concat", *[g.unsqueeze(x, e.params["axis"]) for x in xs], axis=e.params["axis"]))


@rule("concatenate")
def _concatenate(g: Writer, e: Any, *xs: Any) -> Any:
    full = [x for x in xs if not isinstance(x, np.ndarray) or x.size]
    return full[0] if len(full) == 1 else g("Concat", *full, axis=e.params["dimension"])


@rule("split")
def _split(g: Writer, e: Any, x: Any) -> list:
    sizes = e.params["sizes"]
    outs = g("Split", x, g.shape_of(sizes), outputs=len(sizes), axis=e.params["axis"])
    return outs if isinstance(outs, list) else [outs]


@rule("unstack")
def _unstack(g: Writer, e: Any, x: Any) -> list:
    axis = e.params["axis"]
    return [g("Gather", x, np.asarray(i, np.int64), axis=axis) for i in range(len(e.outvars))]


@rule("rev")
def _rev(g: Writer, e: Any, x: Any) -> str:
    axes = e.params["dimensions"]
    least = np.iinfo(np.int64).min
    return g.slice(x, [-1] * len(axes), [least] * len(axes), axes, [-1] * len(axes))


@rule("slice")
def _slice(g: Writer, e: Any, x: Any) -> Any:
    starts, ends = e.params["start_indices"], e.params["limit_indices"]
    shape, steps = e.invars[0].aval.shape, e.params["strides"] or (1,) * len(starts)
    axes = [i for i in range(len(starts)) if not (_zero(starts[i]) and ends[i] == shape[i] and steps[i] == 1)]
    if not axes:
        return x
    return g.slice(x, *([b[i] for i in axes] for b in (starts, ends)), axes, [steps[i] for i in axes])


def _zero(n: Any) -> bool:
    return isinstance(n, (int, np.integer)) and n == 0


def _start(g: Writer, start: Any, length: Any, size: Any) -> Any:
    """Where a dynamic slice starts: a number, or a tensor of shape [1], moved so that the slice fits."""
    if isinstance(start, np.ndarray) and isinstance(length, (int, np.integer)):
        return min(max(int(start), 0), length - size)
    start = g.unsqueeze(g.cast(start, np.int64), 0)
    room = g.ints(length - size) if isinstance(length, (int, np.integer)) else g.length(length - size)
    return g("Min", g("Max", start, g.ints(0)), room)


@rule("dynamic_slice")
def _dynamic_slice(g: Writer, e: Any, x: Any, *starts: Any) -> Any:
    return _window(g, x, starts, e.invars[0].aval.shape, e.params["slice_sizes"])


def _window(g: Writer, x: Any, starts: Any, shape: tuple, sizes: tuple) -> Any:
    axes = [i for i, (n, size) in enumerate(zip(shape, sizes)) if not n == size]
    if not axes:
        return x
    found = [_start(g, starts[i], shape[i], sizes[i]) for i in axes]
    if all(isinstance(s, int) for s in found):
        ends = [s + sizes[i] for s, i in zip(found, axes)]
        return g.slice(x, found, ends, axes)
    first = [g.ints(s) if isinstance(s, int) else s for s in found]
    last = [g("Add", s, g.length(sizes[i])) for s, i in zip(first, axes)]
    return g.slice(x, *(p[0] if len(p) == 1 else g("Concat", *p, axis=0) for p in (first, last)), axes)


@rule("dynamic_update_slice")
def _dynamic_update(g: Writer, e: Any, x: Any, update: Any, *starts: Any) -> Any:
    return _overwritten(g, x, update, starts, e.invars[0].aval.shape, e.invars[1].aval.shape)


def _overwritten(g: Writer, x: Any, update: Any, starts: Any, shape: tuple, sizes: tuple) -> Any:
    """x, of this shape, with the window of these sizes replaced."""

    def write(x: Any, axes: list[int]) -> Any:
        """`update` put into x, which is a window already along the axes before."""
        if not axes:
            return update
        axis, *more = axes
        start = _start(g, starts[axis], shape[axis], sizes[axis])
        start = g.ints(start) if isinstance(start, int) else start
        region = update
        if more:
            region = write(g.slice(x, start, g("Add", start, g.length(sizes[axis])), [axis]), more)
        rows = g("Add", start, g("Range", np.int64(0), g.scalar(sizes[axis]), np.int64(1)))
        order = [axis, *[i for i in range(len(shape)) if i != axis]]
        turned = g("ScatterND", g.transpose(x, order), g.unsqueeze(rows, 1), g.transpose(region, order))
        return g.transpose(turned, np.argsort(order))

    return write(x, [i for i, (n, size) in enumerate(zip(shape, sizes)) if not n == size])


def dilated(g: Writer, x: Any, shape: tuple, gaps: list[int], value: Any) -> tuple[Any, tuple]:
    """(x with `gaps` times `value` between its elements along each axis, its shape)."""
    shape = list(shape)  # type: ignore[assignment]
    for axis, gap in enumerate(gaps):
        if not gap:
            continue
        lengths = list(shape)
        x = g.unsqueeze(x, axis + 1)
        pads = [0] * (2 * len(lengths) + 2)
        pads[len(lengths) + 1 + axis + 1] = gap
        x = g("Pad", x, g.ints(*pads), value)
        after = [*lengths[:axis], lengths[axis] * (gap + 1), *lengths[axis + 1 :]]
        x = g.reshape(x, [*lengths[: axis + 1], gap + 1, *lengths[axis + 1 :]], after)
        shape[axis] = after[axis] - gap  # type: ignore[index]
        x = g.slice(x, [0], [shape[axis]], [axis])
    return x, tuple(shape)


@rule("pad")
def _pad(g: Writer, e: Any, x: Any, value: Any) -> Any:
    config, shape = e.params["padding_config"], e.invars[0].aval.shape
    x, shape = dilated(g, x, shape, [c[2] for c in config], value)
    for axis, (low, high, _) in enumerate(config):
        cut = [n if isinstance(n, (int, np.integer)) and n < 0 else 0 for n in (low, high)]
        if any(cut):
            x = g.slice(x, [-cut[0]], [shape[axis] + cut[1]], [axis])
    lows, highs = ([max(n, 0) if isinstance(n, (int, np.integer)) else n for n in p] for p in list(zip(*config))[:2])
    if all(map(_zero, (*lows, *highs))):
        return x
    return g("Pad", x, g.shape_of([*lows, *highs]), value)


@rule("iota")
def _iota(g: Writer, e: Any, *lengths: Any) -> Any:
    shape, axis, dtype = e.params["shape"], e.params["dimension"], e.params["dtype"]
    row = g("Range", np.int64(0), g.scalar(shape[axis]), np.int64(1))
    row = row if np.dtype(dtype) == np.int64 else g("Cast", row, to=g.kind(dtype))
    row = g.unsqueeze(row, *[i for i in range(len(shape)) if i != axis])
    one = [n if i == axis else 1 for i, n in enumerate(shape)]
    return Ref(row, one, dtype) if len(shape) == 1 else g.expand(row, shape)


@rule("dim_as_value")
def _dim_as_value(g: Writer, e: Any) -> str:
    return g.cast(Ref(g.scalar(e.params["dim"]), (), np.int64), e.outvars[0].aval.dtype)


# ---- reductions ----


def _reduction(kind: str, wide: bool = False) -> Callable:
    def translate(g: Writer, e: Any, x: Any) -> str:
        dtype = e.invars[0].aval.dtype
        own = x if dtype.kind != "b" and dtype.itemsize > 1 else g.cast(x, np.int32)
        out = g.reduce(kind, own, e.params["axes"])
        return out if own is x else g.cast(Ref(out, (), np.int32), dtype)

    return translate


for _name, _kind in {
    "reduce_sum": "ReduceSum", "reduce_max": "ReduceMax", "reduce_min": "ReduceMin", "reduce_prod": "ReduceProd",
    "reduce_and": "ReduceMin", "reduce_or": "ReduceMax",
}.items():  # fmt: skip
    rule(_name)(_reduction(_kind))


@rule("argmax", "argmin")
def _argument(g: Writer, e: Any, x: Any) -> str:
    dtype = e.invars[0].aval.dtype
    if dtype in (np.int64, np.bool_, np.int16):
        x = g.cast(x, np.int32 if dtype != np.int64 else np.float64)
    (axis,) = e.params["axes"]
    out = g("ArgMax" if e.primitive.name == "argmax" else "ArgMin", x, axis=axis, keepdims=0)
    return g.cast(Ref(out, (), np.int64), e.outvars[0].aval.dtype)


@rule("cumsum")
def _cumsum(g: Writer, e: Any, x: Any) -> str:
    return g("CumSum", x, np.asarray(e.params["axis"], np.int64), reverse=int(e.params["reverse"]))


@rule("cumprod", "cummax", "cummin")
def _cumulative(g: Writer, e: Any, x: Any) -> Any:
    """In steps of 1, 2, 4, ...: each element is joined with the one so far before it."""
    axis, shape, dtype = e.params["axis"], e.invars[0].aval.shape, e.invars[0].aval.dtype
    if is_open(shape[axis : axis + 1]):
        raise Unsupported(f"{e.primitive.name} along an axis of unknown length")
    kind = {"cumprod": "Mul", "cummax": "Max", "cummin": "Min"}[e.primitive.name]
    limits = (-np.inf, np.inf) if dtype.kind == "f" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    neutral = np.asarray({"Mul": 1, "Max": limits[0], "Min": limits[1]}[kind], dtype)
    step, n = 1, shape[axis]
    while step < n:
        pads = [0] * (2 * len(shape))
        back = bool(e.params["reverse"])
        pads[axis + (len(shape) if back else 0)] = step
        kept = g.slice(x, [step], [n], [axis]) if back else g.slice(x, [0], [n - step], [axis])
        x = g(kind, x, g("Pad", kept, g.ints(*pads), neutral))
        step *= 2
    return x


@rule("sort")
def _sort(g: Writer, e: Any, *xs: Any) -> list:
    axis, shape = e.params["dimension"], e.invars[0].aval.shape
    if e.params["num_keys"] != 1:
        raise Unsupported("sorting by several keys")
    values, places = g("TopK", xs[0], g.length(shape[axis]), outputs=2, axis=axis, largest=0, sorted=1)
    return [values, *[g("GatherElements", x, places, axis=axis) for x in xs[1:]]]


@rule("top_k")
def _top_k(g: Writer, e: Any, x: Any) -> list:
    axis = e.params.get("axis", -1)
    values, places = g("TopK", x, g.ints(e.params["k"]), outputs=2, axis=axis, largest=1, sorted=1)
    return [values, g.cast(Ref(places, (), np.int64), e.outvars[1].aval.dtype)]


@rule("reduce_window_max", "reduce_window_sum", "reduce_window_min")
def _reduce_window(g: Writer, e: Any, x: Any) -> str:
    p = e.params
    n = len(e.invars[0].aval.shape) - 2
    plain = n > 0 and p["window_dimensions"][:2] == (1, 1) and set(p["padding"][:2]) == {(0, 0)}
    if not plain or e.primitive.name == "reduce_window_min" or set(p["base_dilation"]) != {1}:
        raise Unsupported(f"{e.primitive.name} over these axes")
    window = {
        "kernel_shape": p["window_dimensions"][2:], "strides": p["window_strides"][2:],
        "pads": [*[a for a, _ in p["padding"][2:]], *[b for _, b in p["padding"][2:]]],
    }  # fmt: skip
    if e.primitive.name == "reduce_window_max":
        return g("MaxPool", x, dilations=p["window_dilation"][2:], **window)
    if set(p["window_dilation"]) != {1}:
        raise Unsupported("sums over windows with gaps")
    size = np.asarray(count(p["window_dimensions"]), e.outvars[0].aval.dtype)
    return g("Mul", g("AveragePool", x, count_include_pad=1, **window), size)


# ---- products ----


@rule("dot_general")
def _dot(g: Writer, e: Any, x: Any, y: Any) -> Any:
    (x_sum, y_sum), (x_batch, y_batch) = e.params["dimension_numbers"]
    return product(g, x, y, [v.aval for v in e.invars], (x_sum, y_sum), (x_batch, y_batch), e.outvars[0].aval)


def product(g: Writer, x: Any, y: Any, avals: list, sums: tuple, batches: tuple, out: Any) -> Any:
    """A product of two tensors over some axes, as MatMul where it is one, otherwise as Einsum."""
    if any(a.dtype != out.dtype for a in avals):
        x, y = g.cast(_as_ref(x, avals[0]), out.dtype), g.cast(_as_ref(y, avals[1]), out.dtype)
    free = [[i for i in range(a.ndim) if i not in s and i not in b] for a, s, b in zip(avals, sums, batches)]
    if len(sums[0]) == 1 and len(free[0]) <= 1 and len(free[1]) <= 1:
        x = g.transpose(x, [*batches[0], *free[0], *sums[0]])
        y = g.transpose(y, [*batches[1], *sums[1], *free[1]])
        # vectors become matrices: ONNX Runtime 1.32 fuses a transposition with the product of a vector, and errs
        x = x if free[0] else g.unsqueeze(x, avals[0].ndim - 1)
        y = y if free[1] else g.unsqueeze(y, avals[1].ndim)
        spare = [] if free[0] else [len(batches[0])]
        spare += [] if free[1] else [len(batches[0]) + 1]
        return g.squeeze(g("MatMul", x, y), *spare)
    if len(sums[0]) == 1 and not batches[0] and len(free[1]) <= 1 and avals[1].ndim <= 2:  # rows of a matrix
        return g("MatMul", g.transpose(x, [*free[0], *sums[0]]), g.transpose(y, [*sums[1], *free[1]]))
    letters = iter("abcdefghijklmnopqrstuvwxyz")
    words = [[""] * avals[0].ndim, [""] * avals[1].ndim]
    batch = []
    for i, j in zip(*batches):
        words[0][i] = words[1][j] = next(letters)
        batch.append(words[0][i])
    for i, j in zip(*sums):
        words[0][i] = words[1][j] = next(letters)
    for word, axes in zip(words, free):
        for i in axes:
            word[i] = next(letters)
    result = [*batch, *[words[0][i] for i in free[0]], *[words[1][i] for i in free[1]]]
    return g("Einsum", x, y, equation=f"{''.join(words[0])},{''.join(words[1])}->{''.join(result)}")


def _as_ref(x: Any, aval: Any) -> Any:
    return x if isinstance(x, (Ref, np.ndarray)) else Ref(x, aval.shape, aval.dtype)


@rule("conv_general_dilated")
def _conv(g: Writer, e: Any, x: Any, w: Any) -> Any:
    p = e.params
    numbers, shape = p["dimension_numbers"], e.invars[0].aval.shape
    if p["batch_group_count"] != 1 or any(not isinstance(n, (int, np.integer)) for pair in p["padding"] for n in pair):
        raise Unsupported("a convolution of this kind")
    x = g.transpose(x, numbers.lhs_spec)
    w = g.transpose(w, numbers.rhs_spec)
    shape = tuple(shape[i] for i in numbers.lhs_spec)
    zero = np.zeros((), e.invars[0].aval.dtype)
    x, shape = dilated(g, x, shape, [0, 0, *[d - 1 for d in p["lhs_dilation"]]], zero)
    pads = [list(pair) for pair in p["padding"]]
    for axis, pair in enumerate(pads):
        cut = [max(-n, 0) for n in pair]
        if any(cut):
            x = g.slice(x, [cut[0]], [shape[axis + 2] - cut[1]], [axis + 2])
            pads[axis] = [max(n, 0) for n in pair]
    out = g(
        "Conv", x, w, strides=p["window_strides"], dilations=p["rhs_dilation"], group=p["feature_group_count"],
        pads=[*[a for a, _ in pads], *[b for _, b in pads]],
    )  # fmt: skip
    return g.transpose(out, np.argsort(numbers.out_spec))


@rule("convolution")
def _own_convolution(g: Writer, e: Any, x: Any, w: Any) -> Any:
    """Our primitive (`ops.contraction`)."""
    geometry, kind = e.params["geometry"], e.params["kind"]
    if kind != "convolution":
        raise Unsupported(f"the {kind} of a convolution")
    n = len(geometry.kernel)
    if geometry.last:
        x = g.transpose(x, [0, n + 1, *range(1, n + 1)])
    out = g(
        "Conv", x, w, strides=geometry.stride, dilations=geometry.dilation, group=geometry.groups,
        pads=[*[a for a, _ in geometry.pads], *[b for _, b in geometry.pads]],
    )  # fmt: skip
    return g.transpose(out, [0, *range(2, n + 2), 1]) if geometry.last else out


@rule("matmul")
def _own_matmul(g: Writer, e: Any, x: Any, y: Any) -> Any:
    """Our primitive (`ops.contraction`)."""
    for name, position in (("transpose_x", 0), ("transpose_y", 1)):
        if e.params[name]:
            order = list(range(e.invars[position].aval.ndim))
            order[-2:] = order[-1], order[-2]
            x, y = (g.transpose(x, order), y) if position == 0 else (x, g.transpose(y, order))
    return g("MatMul", x, y)


# ---- branches and loops ----


def _closed(jaxpr: Any) -> Any:
    return jaxpr if isinstance(jaxpr, ClosedJaxpr) else ClosedJaxpr(jaxpr, ())


def _results(g: Writer, jaxpr: Any, operands: list) -> list[Ref]:
    found = inline(g, jaxpr.jaxpr, jaxpr.consts, operands)
    return [g.constant(x) if isinstance(x, np.ndarray) else _as_ref(x, v) for x, v in zip(found, jaxpr.out_avals)]


@rule("cond")
def _cond(g: Writer, e: Any, which: Any, *operands: Any) -> list:
    branches = [_closed(b) for b in e.params["branches"]]

    def hit(i: int) -> str:
        return g("Equal", which, np.asarray(i, e.invars[0].aval.dtype))

    return choose(g, hit, [lambda b=b: _results(g, b, list(operands)) for b in branches])


def choose(g: Writer, hit: Callable[[int], str], branches: list[Callable[[], list]]) -> list:
    """The results of one of several blocks: of the first whose test `hit(number)` is true, or of the last."""

    def pick(first: int) -> list:
        if first == len(branches) - 1:
            return branches[first]()
        test = hit(first)
        here = g.subgraph("then", [], branches[first])
        other = g.subgraph("else", [], lambda: pick(first + 1))
        made = g("If", test, outputs=len(here.output), then_branch=here, else_branch=other)
        made = made if isinstance(made, list) else [made]
        types = [np.dtype(g.onnx.helper.tensor_dtype_to_np_dtype(o.type.tensor_type.elem_type)) for o in here.output]
        return [Ref(m, (), t) for m, t in zip(made, types)]

    return [str(m) for m in pick(0)]


@rule("while")
def _while(g: Writer, e: Any, *operands: Any) -> list:
    p = e.params
    test, body = _closed(p["cond_jaxpr"]), _closed(p["body_jaxpr"])
    a, b = p["cond_nconsts"], p["body_nconsts"]
    test_constants, constants, first = list(operands[:a]), list(operands[a : a + b]), list(operands[a + b :])
    avals = [v.aval for v in e.outvars]
    return loop(
        g,
        [g.constant(x) if isinstance(x, np.ndarray) else x for x in first],
        [(v.shape, v.dtype) for v in avals],
        lambda state: _results(g, test, [*test_constants, *state])[0],
        lambda state: _results(g, body, [*constants, *state]),
    )


def loop(g: Writer, first: list, types: list[tuple], test: Callable, body: Callable) -> list:
    """A loop: (first values, their shapes and types, whether to go on, the next values)."""
    state = [Ref(str(x), *t) for x, t in zip(first, types)]
    go_on = test(state)
    count_ = Ref(g.name("iteration"), (), np.int64)
    before = Ref(g.name("go_on"), (), np.bool_)
    inside = [Ref(g.name("state"), shape, dtype) for shape, dtype in types]

    def run() -> list:
        for ref in inside:
            g.know(ref)
        after = body(inside)
        return [test(after), *after]

    graph = g.subgraph("body", [count_, before, *inside], run)
    made = g("Loop", None, go_on, *state, outputs=len(state), body=graph)
    return made if isinstance(made, list) else [made]


@rule("scan")
def _scan(g: Writer, e: Any, *operands: Any) -> list:
    p = e.params
    jaxpr, n_constants, n_carry = _closed(p["jaxpr"]), p["num_consts"], p["num_carry"]
    constants, carry, rows = operands[:n_constants], operands[n_constants : n_constants + n_carry], operands[
        n_constants + n_carry :]  # fmt: skip
    avals = jaxpr.in_avals[n_constants:]
    inside = [Ref(g.name("state"), v.shape, v.dtype) for v in avals[:n_carry]]
    slices = [Ref(g.name("row"), v.shape, v.dtype) for v in avals[n_carry:]]
    given = list(rows)
    extra = []
    if not rows:
        given = [g("Range", np.int64(0), g.scalar(p["length"]), np.int64(1))]
        extra = [Ref(g.name("row"), (), np.int64)]
    graph = g.subgraph("body", [*inside, *slices, *extra], lambda: _results(g, jaxpr, [*constants, *inside, *slices]))
    direction = int(p["reverse"])
    n_rows, n_outs = len(given), len(e.outvars) - n_carry
    made = g(
        "Scan", *carry, *given, outputs=len(e.outvars), body=graph, num_scan_inputs=n_rows,
        scan_input_directions=[direction] * n_rows, scan_output_directions=[direction] * n_outs if n_outs else None,
    )  # fmt: skip
    return made if isinstance(made, list) else [made]


# ---- functions that JAX names ----


def _floor_divide(g: Writer, e: Any, x: Any, y: Any) -> Any:
    dtype = e.outvars[0].aval.dtype
    if dtype.kind == "f" or any(v.aval.dtype != dtype for v in e.invars):
        return None
    return g("Div", g("Sub", x, g("Mod", x, y)), y)


_FUNCTIONS: dict[str, Callable] = {"floor_divide": _floor_divide}
