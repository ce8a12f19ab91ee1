"""Integers in programs: weights kept as integers, values that pass through integers, products of integers.

What is quantised reads ``dequantize_linear(quantize_linear(x))``, as in ONNX; of a weight only the integers are left, a state
with a `dequantize_linear` behind it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from ...engine import errors
from ...engine.executable import TENSOR
from ...engine.op import registry
from ...engine.tensor import _make
from ...engine.value import Value
from ..program import Graph, Operator, Pullback, State
from ..run import Environment, execute
from .base import Uses, plain, register
from .cleanup import dead_code, new_state

# Of the operators with weights: the axis of the output channels.
CHANNELS = {
    "conv1d": 0, "conv2d": 0, "conv3d": 0, "conv1d_transpose": 1, "conv2d_transpose": 1, "conv3d_transpose": 1,
    "linear": 1, "matmul": 1,
}  # fmt: skip
_PRODUCTS, _CONVOLUTIONS = ("linear", "matmul"), ("conv1d", "conv2d", "conv3d")
# Words for kinds of operators, official ones among them.
KINDS: dict[str, tuple[str, ...]] = {
    "conv": _CONVOLUTIONS,
    "conv2d": ("conv2d",),
    "depthwise_conv2d": ("conv2d",),
    "conv3d": ("conv3d",),
    "conv2d_transpose": ("conv2d_transpose",),
    "depthwise_conv2d_transpose": ("conv2d_transpose",),
    "conv_transpose": ("conv1d_transpose", "conv2d_transpose", "conv3d_transpose"),
    **{name: _PRODUCTS for name in ("linear", "fc", "mul", "matmul", "matmul_v2")},
}


class Site(NamedTuple):
    """An operator with a weight.

    Attributes:
        operator: the operator.
        x: the value that meets the weight.
        weight: the weight, a state.
        axis: of its output channels.
    """

    operator: Operator
    x: Value
    weight: Value
    axis: int


def sites(graph: Graph, kinds: Iterable[str] | None = None, skip: Collection[str] = ()) -> list[Site]:
    """The operators with weights, in order.

    Args:
        graph: a graph; blocks of branches and loops are left alone.
        kinds: words of KINDS; default: all. "conv2d" means those that are not depthwise.
        skip: names of weights, inputs or results; operators that have one are left out.

    Raises:
        ValueError: an unknown word.
    """
    kinds = None if kinds is None else list(kinds)
    for kind in kinds or ():
        if kind not in KINDS:
            raise errors.ValueError_(
                f"quantization: {kind!r} is no kind of operator with weights; there are {', '.join(KINDS)}"
            )
    states = {s.value for s in graph.states.values()}
    found = []
    for operator in graph.block.operators:
        site = None if isinstance(operator, Pullback) else _site(operator, states)
        if site is None or kinds is not None and not _is_of(site, kinds):
            continue
        if not any(v.name in skip for v in (site.x, site.weight, *operator.outputs)):
            found.append(site)
    return found


def _site(operator: Operator, states: set[Value]) -> Site | None:
    if operator.name not in CHANNELS:
        return None
    given = operator.arguments()
    x, weight = given["x"], given["y" if operator.name == "matmul" else "weight"]
    axis = CHANNELS[operator.name]
    if operator.name == "matmul" and plain(given.get("transpose_y", False)):
        axis = 0
    fits = isinstance(x, Value) and isinstance(weight, Value) and weight in states and weight.dtype.kind == "f"
    if not fits or operator.name in _PRODUCTS and weight.ndim != 2:
        return None
    return Site(operator, x, weight, axis)


def _is_of(site: Site, kinds: Sequence[str]) -> bool:
    name = site.operator.name
    if name == "conv2d":
        depthwise = plain(site.operator.arguments()["groups"]) > 1 and site.weight.shape[1] == 1
        return "conv" in kinds or ("depthwise_conv2d" if depthwise else "conv2d") in kinds
    return any(name in KINDS[kind] for kind in kinds)


def ends(graph: Graph) -> list[Value]:
    """The results that no operator reads: what a program computes when nobody says what is wanted."""
    read = {v for o in graph.block.operators for v in o.reads()}
    return [v for o in graph.block.operators for v in o.outputs if v not in read]


# ---- weights ----


def scales_of(array: Any, axis: int | None) -> np.ndarray:
    """The largest magnitude of a weight, for each index of an axis, or as shape [] for all."""
    array = np.abs(np.asarray(array, np.float32))
    if axis is None:
        return array.max(initial=0.0)
    return array.max(tuple(i for i in range(array.ndim) if i != axis), initial=0.0)


def integers_of(array: Any, scale: np.ndarray, bits: int = 8, axis: int | None = None) -> np.ndarray:
    """A weight as integers, see `ops.quantization.quantize_linear`."""
    return np.asarray(
        registry["quantize_linear"].entry(TENSOR, TENSOR, bits, axis).call(*map(np.asarray, (array, scale)))
    )


class Weight(NamedTuple):
    """A weight as it is kept: integers, scales, the width of the integers, the axis of the scales (None: one scale)."""

    integers: np.ndarray
    scales: np.ndarray
    bits: int = 8
    axis: int | None = None


def with_integer_weights(graph: Graph, weights: Mapping[Value, Weight]) -> Graph:
    """The graph with integers in the place of weights; what read them reads them dequantised."""
    new = graph.with_operators([])
    instead: dict[Value, Value] = {}
    ahead: list[Operator] = []
    for value, kept in weights.items():
        del new.states[value.name]
        whole, scale = (
            new_state(new, value.name, jnp.asarray(kept.integers)),
            new_state(new, value.name + ".scale", jnp.asarray(kept.scales)),
        )
        instead[value] = Value(value.name + ".dequantized", value.trials, value.dtype)
        ahead.append(_dequantize(whole, scale, instead[value], kept.bits, kept.axis))
    new.block.operators = ahead + [_reading(o, instead) for o in graph.block.operators]
    return new


def rounded_weights(
    graph: Graph, chosen: Iterable[Site], bits: int = 8, per_channel: bool = True
) -> dict[Value, Weight]:
    """The weights of operators as integers, each rounded to the nearest one."""
    uses, found = Uses(graph), {}
    for site in chosen:
        array = uses.array(site.weight)
        if array is None or site.weight in found:
            continue
        axis = site.axis if per_channel else None
        scale = scales_of(array, axis)
        found[site.weight] = Weight(integers_of(array, scale, bits, axis), scale, bits, axis)
    return found


def _reading(operator: Operator, instead: Mapping[Value, Value]) -> Operator:
    """The operator with other inputs; its gradient as well."""
    if not any(isinstance(x, Value) and x in instead for x in operator.inputs):
        return operator
    return operator.replaced(inputs=tuple([instead.get(x, x) if isinstance(x, Value) else x for x in operator.inputs]))


# ---- values ----


def _quantize(x: Value, scale: Value, out: Value, bits: int, axis: int | None) -> Operator:
    return Operator(registry["quantize_linear"], (TENSOR, TENSOR, bits, axis), (x, scale), (out,))


def _dequantize(x: Value, scale: Value, out: Value, bits: int, axis: int | None) -> Operator:
    kernel = registry["dequantize_linear"]
    return Operator(kernel, (TENSOR, TENSOR, bits, axis, out.dtype.name), (x, scale), (out,))


def with_rounded_inputs(
    graph: Graph, chosen: Iterable[Site], ranges: Mapping[Value, float] | None, bits: int = 8
) -> Graph:
    """The graph in which what meets the weights of the chosen operators passes through integers.

    Args:
        graph: a graph.
        chosen: its operators.
        ranges: the magnitude of each value that becomes the largest integer; values without one stay as they are. None:
            the largest magnitude of each sample (index of the first axis) is taken while running.
        bits: width of the integers.
    """
    by_operator = {s.operator: s for s in chosen}
    new = graph.with_operators([])
    made: dict[Value, Value] = {}
    for operator in graph.block.operators:
        site = by_operator.get(operator)
        if site is not None and (ranges is None or site.x in ranges):
            if site.x not in made:
                made[site.x] = _through_integers(new, site.x, None if ranges is None else ranges[site.x], bits)
            operator = _reading(operator, {site.x: made[site.x]})
        new.block.operators.append(operator)
    return new


def _through_integers(new: Graph, x: Value, magnitude: float | None, bits: int) -> Value:
    axis = None
    if magnitude is None:
        axis = 0 if x.ndim > 1 else None
        trials = tuple((t[0],) if axis == 0 else (1,) for t in x.trials)
        scale = Value(x.name + ".scale", trials, x.dtype)
        new.block.operators.append(Operator(registry["largest_magnitude"], (TENSOR, axis), (x,), (scale,)))
    else:
        scale = new_state(new, x.name + ".scale", jnp.float32(magnitude))
    whole = Value(x.name + ".quantized", x.trials, np.dtype("int8" if bits <= 8 else "int16"))
    out = Value(x.name + ".dequantized", x.trials, x.dtype)
    new.block.operators += [_quantize(x, scale, whole, bits, axis), _dequantize(whole, scale, out, bits, axis)]
    return out


# ---- from training to use ----

_FOLDED = {"largest_magnitude": "scale", "quantize_linear": "integers", "stop_gradient": "same"}  # and their names


@register("real_integers")
def real_integers(graph: Graph, wanted: Sequence[Value]) -> Graph:
    """Rounding that trained (`fake_quantize`) becomes a `quantize_linear` and a `dequantize_linear`; of weights only the
    integers are left."""
    new = graph.with_operators([])
    for operator in graph.block.operators:
        if operator.name != "fake_quantize":
            new.block.operators.append(operator)
            continue
        given = operator.arguments()
        x, bits, axis, (out,) = given["x"], plain(given["bits"]), plain(given["axis"]), operator.outputs
        whole = Value(x.name + ".quantized", out.trials, np.dtype("int8" if bits <= 8 else "int16"))
        new.block.operators += [
            _quantize(x, given["scale"], whole, bits, axis),
            _dequantize(whole, given["scale"], out, bits, axis),
        ]
    return _folded(new, wanted)


def _folded(graph: Graph, wanted: Sequence[Value]) -> Graph:
    """Scales and integers of weights are computed in advance."""
    uses = Uses(graph, wanted)
    constant = {v: a for v in uses.states if (a := uses.array(v)) is not None}
    names = {v: s.name for v, s in uses.states.items()}
    new = graph.with_operators([])
    for operator in graph.block.operators:
        reads = list(operator.reads())
        if operator.name not in _FOLDED or not reads or not all(v in constant for v in reads):
            new.block.operators.append(operator)
            continue
        environment = Environment({v: constant[v] for v in reads})
        execute([operator], environment)
        value = operator.outputs[0]
        name = f"{names[reads[0]]}.{_FOLDED[operator.name]}"
        while name in new.states:
            name += "_"
        constant[value], names[value] = environment.arrays[value], name
        new.states[name] = State(name, value, _make(constant[value]))
    return dead_code(new, wanted)


# ---- products of integers ----


@register("integer_products")
def integer_products(graph: Graph, wanted: Sequence[Value]) -> Graph:
    """A linear layer between dequantised values multiplies their integers."""
    uses = Uses(graph, wanted)
    operators = [_integer_product(uses, o) or o for o in graph.block.operators]
    return dead_code(graph.with_operators(operators), wanted)


def _integer_product(uses: Uses, operator: Operator) -> Operator | None:
    if operator.name not in _PRODUCTS:
        return None
    given = operator.arguments()
    if any(plain(given.get(n, False)) for n in ("transpose_x", "transpose_y")):
        return None
    x = uses.made_by(given["x"], "dequantize_linear")
    weight = uses.made_by(given["y" if operator.name == "matmul" else "weight"], "dequantize_linear")
    if x is None or weight is None or not isinstance(weight.inputs[0], Value) or weight.inputs[0].ndim != 2:
        return None
    a, w = x.arguments(), weight.arguments()
    values = (a["x"], a["scale"], w["x"], w["scale"])
    if not all(isinstance(v, Value) for v in values) or not a["x"].dtype == w["x"].dtype == np.int8:
        return None
    if a["x"].ndim < 2 or not _factors_out(a, 0) or not _factors_out(w, 1) or operator.outputs[0].dtype != np.float32:
        return None
    bias = given.get("bias")
    inputs = (*values, bias) if isinstance(bias, Value) else values
    key = (*(TENSOR,) * 4, TENSOR if isinstance(bias, Value) else None, plain(a["bits"]), plain(w["bits"]))
    return Operator(registry["integer_linear"], key, inputs, operator.outputs, False, None, operator.line)


def _factors_out(arguments: dict[str, Any], axis: int) -> bool:
    """Whether the scales are those of rows (axis 0) or columns (axis 1) of a product, or one for all."""
    scale = arguments["scale"]
    if all(np.prod(t) == 1 for t in scale.trials):
        return True
    return scale.ndim == 1 and plain(arguments["axis"]) in (axis, axis - arguments["x"].ndim)
