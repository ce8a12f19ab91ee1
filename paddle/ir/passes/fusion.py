"""Passes that put several operators into one: linear layers, attention."""

from __future__ import annotations

from collections.abc import Sequence

from ...engine.executable import TENSOR
from ...engine.op import registry
from ...engine.value import Value
from ..program import Graph, Operator
from .base import Uses, plain, register
from .cleanup import dead_code


def _flag(arguments: dict, *names: str) -> bool:
    return any(bool(plain(arguments.get(n, False))) for n in names)


@register("linear")
def linear(graph: Graph, wanted: Sequence[Value]) -> Graph:
    """A product with a matrix and the addition of a vector become one operator."""
    uses = Uses(graph, wanted)
    operators = []
    for operator in graph.block.operators:
        operators.append(_linear(uses, operator) or operator)
    return dead_code(graph.with_operators(operators), wanted)


def _linear(uses: Uses, operator: Operator) -> Operator | None:
    if operator.name != "add":
        return None
    arguments = operator.arguments()
    product = uses.made_by(arguments["x"], "matmul")
    bias = arguments["y"]
    if product is None or not isinstance(bias, Value) or bias.ndim != 1 or bias not in uses.states:
        return None
    if uses.only_reader(product.outputs[0]) is not operator:
        return None
    given = product.arguments()
    weight = given["y"]
    if _flag(given, "transpose_x", "transpose_y") or not isinstance(weight, Value) or weight.ndim != 2:
        return None
    x = given["x"]
    if not isinstance(x, Value) or x.ndim < 2 or not x.dtype == weight.dtype == bias.dtype:
        return None
    if bias.shape != weight.shape[1:]:
        return None
    return Operator(registry["linear"], (TENSOR,) * 3, (x, weight, bias), operator.outputs, False, None, operator.line)


@register("attention")
def attention(graph: Graph, wanted: Sequence[Value]) -> Graph:
    """softmax(q k^T * scale + mask) v, written with products of [batch, heads, length, size], becomes one operator."""
    uses = Uses(graph, wanted)
    operators: list[Operator] = []
    for operator in graph.block.operators:
        operators.extend(_attention(uses, operator) or [operator])
    return dead_code(graph.with_operators(operators), wanted)


def _attention(uses: Uses, operator: Operator) -> list[Operator] | None:
    if operator.name != "matmul" or _flag(operator.arguments(), "transpose_x", "transpose_y"):
        return None
    arguments = operator.arguments()
    weights = uses.made_by(arguments["x"], "softmax")
    if weights is None or uses.only_reader(weights.outputs[0]) is not operator or operator.outputs[0].ndim != 4:
        return None
    if plain(weights.arguments().get("axis", -1)) not in (-1, 3):
        return None
    scores = weights.arguments()["x"]
    if uses.only_reader(scores) is not weights:
        return None
    mask = None
    added = uses.made_by(scores, "add")
    if added is not None:
        scores, mask = added.arguments()["x"], added.arguments()["y"]
        if not isinstance(mask, Value) or uses.only_reader(scores) is not added:
            return None
    scale = 1.0
    scaled = uses.made_by(scores, "multiply", "scale", "divide")
    if scaled is not None:
        found = _scale_of(scaled)
        if found is None or uses.only_reader(scaled.arguments()["x"]) is not scaled:
            return None
        scores, scale = scaled.arguments()["x"], found
    product = uses.made_by(scores, "matmul")
    if product is None:
        return None
    given = product.arguments()
    if _flag(given, "transpose_x"):
        return None
    query, key, value = given["x"], given["y"], arguments["y"]
    before: list[Operator] = []
    if not _flag(given, "transpose_y"):
        turned = uses.made_by(key, "transpose")
        if turned is None or tuple(plain(turned.arguments()["perm"])) not in ((0, 1, 3, 2), (0, 1, -1, -2)):
            return None
        key = turned.arguments()["x"]
    if not all(isinstance(x, Value) and x.ndim == 4 for x in (query, key, value)):
        return None
    kernel = registry["attention_heads_first"]
    inputs = [query, key, value] + ([mask] if mask is not None else [])
    shape = (TENSOR, TENSOR, TENSOR, TENSOR if mask is not None else None, TENSOR)
    fused = Operator(kernel, shape, (*inputs, scale), operator.outputs, False, None, operator.line)
    return [*before, fused]


def _scale_of(operator: Operator) -> float | None:
    """The factor of an operator that multiplies by a number."""
    arguments = operator.arguments()
    if operator.name == "scale":
        number = arguments.get("scale")
        if plain(arguments.get("bias", 0.0)) != 0:
            return None
    else:
        number = arguments.get("y")
    number = plain(number)
    if isinstance(number, bool) or not isinstance(number, (int, float)) or not number:
        return None
    return 1.0 / number if operator.name == "divide" else float(number)
