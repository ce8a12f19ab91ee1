"""From training to inference: dropout disappears, batch normalisation uses its running statistics."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ...engine.executable import TENSOR, Static
from ...engine.op import registry
from ...engine.value import Value
from ..control_flow import with_operators
from ..program import Graph, Operator, Pullback, parameter_names
from .base import register


def with_arguments(operator: Operator, **changes: Any) -> Operator:
    """The operator with other attributes or numbers, by the names of the kernel's parameters."""
    names = parameter_names(operator.kernel, len(operator.key))
    key, inputs = list(operator.key), list(operator.inputs)
    for name, value in changes.items():
        at = names.index(name)
        if key[at] is TENSOR:
            inputs[sum(k is TENSOR for k in key[:at])] = value
        else:
            key[at] = value
    return operator.replaced(key=tuple(key), inputs=tuple(inputs))


def _dropout(operator: Operator) -> Operator:
    arguments = operator.arguments()
    x = operator.inputs[0]
    if arguments.get("upscale", True):
        return _identity(operator)
    kernel = registry["dropout_scale"]
    return Operator(
        kernel, (TENSOR, TENSOR), (x, arguments["p"]), operator.outputs, operator.several, None, operator.line
    )


def _identity(operator: Operator) -> Operator:
    kernel = registry["assign"]
    return Operator(kernel, (TENSOR,), operator.inputs[:1], operator.outputs, False, None, operator.line)


def _rrelu(operator: Operator) -> Operator:
    arguments = operator.arguments()
    slope = (arguments["lower"] + arguments["upper"]) / 2
    return with_arguments(operator, lower=slope, upper=slope)


def _without_dropout(operator: Operator) -> Operator:
    return with_arguments(operator, p=0.0)


RULES: dict[str, Callable[[Operator], Operator]] = {
    "dropout": _dropout,
    "alpha_dropout": _identity,
    "batch_norm": lambda operator: _static(operator, batch=False, frozen=False),
    "rrelu": _rrelu,
    "attention_dropout": _without_dropout,
    "packed_attention_dropout": _without_dropout,
    "flashmask_attention_dropout": _without_dropout,
}


def _static(operator: Operator, **changes: Any) -> Operator:
    return with_arguments(operator, **{name: Static(value) for name, value in changes.items()})


@register("inference")
def inference(graph: Graph, wanted: Sequence[Value]) -> Graph:
    """Dropout disappears, batch normalisation uses its running statistics."""
    new = graph.with_operators(for_inference(graph.block.operators))
    new.states = {n: s.copy() for n, s in new.states.items()}
    for state in new.states.values():
        state.update = None
    return new


def for_inference(operators: Iterable[Operator]) -> list[Operator]:
    """The operators as they compute in inference; what they define stays the same values."""
    return [_for_inference(o) for o in operators]


def _for_inference(operator: Operator) -> Operator:
    if operator.name in RULES:
        return RULES[operator.name](operator)
    blocks = getattr(operator.kernel, "blocks", ())
    if not blocks or isinstance(operator, Pullback):
        return operator
    return with_operators(operator, [for_inference(b.operators) for b in blocks])
