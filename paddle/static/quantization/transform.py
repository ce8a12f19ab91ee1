"""Programs that round while they train: operators are put into a program that exists, with its gradients."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import jax.numpy as jnp

from ...engine import errors
from ...engine.modes import set_mode
from ...engine.tensor import Tensor, _make
from ...engine.value import Value
from ...ir.passes import apply
from ...ir.passes.cleanup import replace_inputs
from ...ir.passes.quantization import KINDS, ends, sites
from ...ir.program import Operator, Pullback
from ...ops.quantization import fake_quantize, largest_magnitude
from ..executor import Scope, global_scope
from ..io import _as_program, _with_arrays
from ..program import Program, program_guard

ACTIVATIONS = ("abs_max", "moving_average_abs_max", "range_abs_max")
WEIGHTS = ("abs_max", "channel_wise_abs_max", "range_abs_max", "moving_average_abs_max")
# Operators without weights whose inputs can be rounded, by official names.
WITHOUT_WEIGHTS: dict[str, tuple[str, ...]] = {
    "elementwise_add": ("add",), "elementwise_sub": ("subtract",), "elementwise_mul": ("multiply",),
    "pool2d": ("avg_pool", "max_pool", "adaptive_avg_pool", "adaptive_max_pool"), "concat": ("concat",),
    "softmax": ("softmax",), "relu": ("relu",), "relu6": ("relu6",), "leaky_relu": ("leaky_relu",), "gelu": ("gelu",),
    "sigmoid": ("sigmoid",), "tanh": ("tanh",), "swish": ("swish",), "hard_swish": ("hardswish",),
    "reshape2": ("reshape",), "transpose2": ("transpose",), "flatten2": ("flatten",), "matmul": ("matmul",),
    "matmul_v2": ("matmul",), "layer_norm": ("layer_norm",), "batch_norm": ("batch_norm",),
}  # fmt: skip


def chosen_of(what: str, value: Any, allowed: tuple[str, ...]) -> Any:
    if value not in allowed:
        raise errors.ValueError_(f"quantization: {what} must be one of {', '.join(allowed)}, got {value!r}")
    return value


class Rounding:
    """How values of a program are rounded.

    Args:
        program: changed in place.
        scope: where the statistics are kept.
        bits: width of the integers.
        kind: of ACTIVATIONS.
        rate: of the running mean.
        is_test: the statistics rest.
        linear: round as `quantize_linear` does.
    """

    def __init__(
        self,
        program: Program,
        scope: Scope | None,
        bits: int,
        kind: str,
        rate: float,
        is_test: bool,
        linear: bool = False,
    ):
        self.program, self.scope = program, scope or global_scope()
        self.bits, self.rate, self.is_test, self.linear = bits, rate, is_test, linear
        self.kind = chosen_of("activation_quantize_type", kind, ACTIVATIONS)
        self.made: dict[Value, Value] = {}

    def record(self, function: Any) -> tuple[Value, list[Operator]]:
        """(result, operators) of a function that is called while the program is built; they are taken out again."""
        operators = self.program.block.operators
        start = len(operators)
        with program_guard(self.program), set_mode(grad=False, amp=None):
            value = function()._value
        made = operators[start:]
        del operators[start:]
        return value, made

    def value(self, x: Value) -> tuple[Value, list[Operator]]:
        """An activation, rounded; a second time nothing is added."""
        if x in self.made:
            return self.made[x], []
        tensor = _make(x)
        value, made = self.record(lambda: self._rounded(tensor, self._scale(tensor, x.name), self.bits, None))
        self.made[x] = value
        return value, made

    def _rounded(self, x: Tensor, scale: Tensor, bits: int, axis: int | None) -> Tensor:
        return fake_quantize(x, scale, bits, axis, self.linear)

    def _scale(self, x: Tensor, name: str) -> Tensor:
        if self.kind == "abs_max":
            return largest_magnitude(x, None)
        scale = self._statistic(name + ".quant_scale", 0.001)
        if not self.is_test:
            state, accum = self._statistic(name + ".quant_state", 1.0), self._statistic(name + ".quant_accum", 1.0)
            new_state, new_accum = state * self.rate + 1, accum * self.rate + largest_magnitude(x, None)
            new_scale = new_accum / new_state
            for kept, now in ((state, new_state), (accum, new_accum), (scale, new_scale)):
                kept._storage.write(now._value)
            return new_scale
        return scale

    def _statistic(self, name: str, first: float) -> Tensor:
        variable = self.scope.var(name)
        if not variable._is_initialized():
            variable.array = jnp.full([1], first, jnp.float32)
        return self.program.recorder.add_state(name, (1,), jnp.float32)

    def weight(self, weight: Value, bits: int, axis: int | None) -> tuple[Value, list[Operator]]:
        """A weight, rounded with its own scale."""
        if weight in self.made:
            return self.made[weight], []
        tensor = _make(weight)
        value, made = self.record(lambda: self._rounded(tensor, largest_magnitude(tensor, axis), bits, axis))
        self.made[weight] = value
        return value, made


def exchange(program: Program, changes: dict[Operator, tuple[dict[Value, Value], list[Operator]]]) -> None:
    """Put operators before others, which then read other values; their gradients as well, so that the gradient of a
    rounded value is that of the value."""
    forward: dict[Operator, tuple[Operator, dict[Value, Value]]] = {}
    found: list[Operator] = []
    for operator in program.block.operators:
        new = operator
        if isinstance(operator, Pullback) and operator.forward in forward:
            before, instead = forward[operator.forward]
            n = len(before.inputs)
            inputs = [instead.get(x, x) if isinstance(x, Value) else x for x in operator.inputs[:n]]
            new = operator.replaced(forward=before, inputs=(*inputs, *operator.inputs[n:]))
        elif operator in changes:
            instead, ahead = changes[operator]
            found += ahead
            new = replace_inputs(operator, instead)
            forward[operator] = new, instead
        for group in (program.training, program.guarded):
            if operator in group and new is not operator:
                group.discard(operator)
                group.add(new)
        found.append(new)
    program.block.operators[:] = found
    program.changed()


def round_weighted(
    program: Program,
    rounding: Rounding,
    kinds: Iterable[str],
    weight_bits: int,
    weight_type: str,
    skip: Iterable[str] = (),
) -> None:
    """Round weights and inputs of operators with weights, in place."""
    chosen_of("weight_quantize_type", weight_type, WEIGHTS)
    changes = {}
    for site in sites(program, kinds):
        if _skipped(site.operator, skip):
            continue
        x, before = rounding.value(site.x)
        axis = site.axis if weight_type == "channel_wise_abs_max" else None
        weight, more = rounding.weight(site.weight, weight_bits, axis)
        changes[site.operator] = {site.x: x, site.weight: weight}, before + more
    exchange(program, changes)


def round_inputs(program: Program, rounding: Rounding, kinds: Iterable[str], skip: Iterable[str] = ()) -> None:
    """Round the inputs of operators without weights, in place."""
    names = set()
    for kind in kinds:
        if kind not in WITHOUT_WEIGHTS:
            raise errors.ValueError_(
                f"quantization: {kind!r} is no kind of operator without weights; there are {', '.join(WITHOUT_WEIGHTS)}"
            )
        names.update(WITHOUT_WEIGHTS[kind])
    states = {s.value for s in program.states.values()}
    changes: dict[Operator, tuple[dict[Value, Value], list[Operator]]] = {}
    for operator in program.block.operators:
        if operator.name not in names or isinstance(operator, Pullback) or _skipped(operator, skip):
            continue
        if operator in program.training:
            continue
        inputs = [x for x in operator.inputs if isinstance(x, Value) and x.dtype.kind == "f" and x not in states]
        if operator.name in ("layer_norm", "batch_norm"):
            inputs = inputs[:1]
        instead, ahead = {}, []
        for x in inputs:
            instead[x], made = rounding.value(x)
            ahead += made
        changes[operator] = instead, ahead
    exchange(program, changes)


def _skipped(operator: Operator, patterns: Iterable[str]) -> bool:
    return any(p in v.name for p in patterns for v in (*operator.outputs, *operator.reads()))


def with_integers(program: Program, scope: Scope | None, passes: Iterable[str] = ("real_integers",)) -> Program:
    """A program whose rounded weights are integers; their arrays are put into the scope."""
    scope = scope or global_scope()
    graph = _with_arrays("convert", program, scope)
    graph = apply(graph, ends(graph), ["inference", *passes])
    made = _as_program(graph, list(program.feeds or program.inputs), list(program.fetches), scope)
    return made


def weighted_kinds(kinds: Iterable[str]) -> tuple[list[str], list[str]]:
    """The kinds with weights, and those without."""
    kinds = list(kinds)
    return [k for k in kinds if k in KINDS], [k for k in kinds if k not in KINDS]
