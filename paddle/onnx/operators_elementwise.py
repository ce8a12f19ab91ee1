"""Rows for elementwise operators: those that ONNX has as one node."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from .convert import ROWS, Converter, row
from .writer import Ref

# Operators of ours and of ONNX that are the same for floating inputs; `load` reads the table the other way round.
SAME = {
    "abs": "Abs", "acos": "Acos", "acosh": "Acosh", "asin": "Asin", "asinh": "Asinh", "atan": "Atan", "atanh": "Atanh",
    "ceil": "Ceil", "cos": "Cos", "cosh": "Cosh", "erf": "Erf", "exp": "Exp", "floor": "Floor", "log": "Log",
    "neg": "Neg", "reciprocal": "Reciprocal", "relu": "Relu", "sigmoid": "Sigmoid", "sin": "Sin", "sinh": "Sinh",
    "softsign": "Softsign", "sqrt": "Sqrt", "tan": "Tan", "tanh": "Tanh",
}  # fmt: skip
SAME_OF_TWO = {"add": "Add", "subtract": "Sub", "multiply": "Mul", "divide": "Div"}


def _one(kind: str) -> Any:
    def translate(g: Converter, a: SimpleNamespace) -> Any:
        x = next(iter(vars(a).values()))
        out = g.operator.outputs[0].dtype
        return g(kind, x) if x.dtype == out and out.kind == "f" else NotImplemented

    return translate


for _name, _kind in SAME.items():
    ROWS[_name] = _one(_kind)


def _two(kind: str) -> Any:
    def translate(g: Converter, a: SimpleNamespace) -> Any:
        out = g.operator.outputs[0].dtype
        if out.kind not in "fi" or out.kind == "i" and kind == "Div":
            return NotImplemented
        return g(kind, g.ref(a.x, out), g.ref(a.y, out))

    return translate


for _name, _kind in SAME_OF_TWO.items():
    ROWS[_name] = _two(_kind)


def number(g: Converter, x: Any) -> float | None:
    """An argument as a Python number, None where it is a tensor that is computed."""
    if isinstance(x, Ref):
        array = g.array(x)
        return None if array is None or array.size != 1 else float(array.reshape(()))
    if isinstance(x, np.ndarray):
        return float(x.reshape(())) if x.size == 1 else None
    return None if x is None else float(x)


def _with(kind: str, **attributes: str) -> Any:
    """The translation of an operator whose numbers are attributes: by the names of ONNX, those of our parameters."""

    def translate(g: Converter, a: SimpleNamespace) -> Any:
        found = {theirs: number(g, getattr(a, ours)) for theirs, ours in attributes.items()}
        if None in found.values() or a.x.dtype.kind != "f":
            return NotImplemented
        return g(kind, a.x, **found)

    return translate


ROWS["leaky_relu"] = _with("LeakyRelu", alpha="negative_slope")
ROWS["elu"] = _with("Elu", alpha="alpha")
ROWS["celu"] = _with("Celu", alpha="alpha")
ROWS["selu"] = lambda g, a: (
    NotImplemented
    if None in (number(g, a.alpha), number(g, a.scale))
    else g("Selu", a.x, alpha=number(g, a.alpha), gamma=number(g, a.scale))
)
ROWS["hardsigmoid"] = _with("HardSigmoid", alpha="slope", beta="offset")
ROWS["hardswish"] = lambda g, a: g("HardSwish", a.x) if g.opset >= 14 else NotImplemented
ROWS["relu6"] = lambda g, a: g("Clip", a.x, np.asarray(0, a.x.dtype), np.asarray(6, a.x.dtype))
ROWS["mish"] = lambda g, a: g("Mish", a.x) if g.opset >= 18 else NotImplemented
ROWS["silu"] = ROWS["swish"] = lambda g, a: g("Mul", a.x, g("Sigmoid", a.x))
ROWS["assign"] = ROWS["stop_gradient"] = ROWS["transfer"] = lambda g, a: next(iter(vars(a).values()))
ROWS["logical_not"] = lambda g, a: g("Not", a.x) if a.x.dtype == np.bool_ else NotImplemented


@row("log2", "log10")
def _log(g: Converter, a: SimpleNamespace) -> Any:
    x, base = next(iter(vars(a).values())), 2 if g.operator.name == "log2" else 10
    return g("Div", g("Log", x), np.asarray(np.log(base), x.dtype)) if x.dtype.kind == "f" else NotImplemented


@row("softplus")
def _softplus(g: Converter, a: SimpleNamespace) -> Any:
    plain = number(g, a.beta) == 1 and (number(g, a.threshold) or 0) >= 20
    return g("Softplus", a.x) if plain and a.x.dtype.kind == "f" else NotImplemented


@row("gelu")
def _gelu(g: Converter, a: SimpleNamespace) -> Any:
    if g.opset >= 20:
        return g("Gelu", a.x, approximate="tanh" if a.approximate in (True, "tanh") else "none")
    if a.approximate in (True, "tanh"):
        return NotImplemented
    half, one, root = (np.asarray(n, a.x.dtype) for n in (0.5, 1, 2**0.5))  # runtimes know this form
    return g("Mul", g("Mul", a.x, g("Add", g("Erf", g("Div", a.x, root)), one)), half)


@row("clip")
def _clip(g: Converter, a: SimpleNamespace) -> Any:
    low, high = (None if n is None else g.ref(n, a.x.dtype) for n in (a.min, a.max))
    if any(n is not None and n.ndim for n in (low, high)) or a.x.dtype != g.operator.outputs[0].dtype:
        return NotImplemented
    return g("Clip", a.x, low, high)


@row("hardtanh")
def _hardtanh(g: Converter, a: SimpleNamespace) -> Any:
    return _clip(g, a)


@row("prelu")
def _prelu(g: Converter, a: SimpleNamespace) -> Any:
    weight, last = a.weight, a.data_format[-1] == "C" and a.data_format != "NC"
    if weight.shape != (1,) and not last and a.x.ndim > 2:
        weight = g.reshape(weight, weight.shape, [weight.shape[0], *[1] * (a.x.ndim - 2)])
    return g("PRelu", a.x, weight)


@row("scale")
def _scale(g: Converter, a: SimpleNamespace) -> Any:
    dtype = a.x.dtype
    if dtype.kind != "f":
        return NotImplemented
    scale, bias = number(g, a.scale), number(g, a.bias)
    times = lambda x: x if scale == 1 else g("Mul", x, g.ref(a.scale, dtype))
    plus = lambda x: x if bias == 0 else g("Add", x, g.ref(a.bias, dtype))
    return plus(times(a.x)) if a.bias_after_scale else times(plus(a.x))


@row("cast")
def _cast(g: Converter, a: SimpleNamespace) -> Any:
    return g.cast(a.x, g.operator.outputs[0].dtype)


@row("pow")
def _pow(g: Converter, a: SimpleNamespace) -> Any:
    dtype = g.operator.outputs[0].dtype
    if dtype.kind != "f":
        return NotImplemented
    x = g.ref(a.x, dtype)
    return {2.0: lambda: g("Mul", x, x), 0.5: lambda: g("Sqrt", x)}.get(
        number(g, a.y), lambda: g("Pow", x, g.ref(a.y, dtype))
    )()


def _compared(kind: str) -> Any:
    def translate(g: Converter, a: SimpleNamespace) -> Any:
        x, y = a.x, a.y
        if not all(isinstance(t, Ref) for t in (x, y)):
            tensor = x if isinstance(x, Ref) else y
            other = y if isinstance(x, Ref) else x
            if not isinstance(tensor, Ref) or tensor.dtype.kind in "iub" and number(g, other) != int(number(g, other)):
                return NotImplemented
            x, y = g.ref(x, tensor.dtype), g.ref(y, tensor.dtype)
        if x.dtype != y.dtype or x.dtype.kind not in "fi":
            return NotImplemented
        return g(kind, x, y)

    return translate


for _name, _kind in {
    "equal": "Equal", "greater_than": "Greater", "less_than": "Less", "greater_equal": "GreaterOrEqual",
    "less_equal": "LessOrEqual",
}.items():  # fmt: skip
    ROWS[_name] = _compared(_kind)


@row("where")
def _where(g: Converter, a: SimpleNamespace) -> Any:
    dtype = g.operator.outputs[0].dtype
    if not isinstance(a.condition, Ref) or a.condition.dtype != np.bool_:
        return NotImplemented
    return g("Where", a.condition, g.ref(a.x, dtype), g.ref(a.y, dtype))


@row("masked_fill")
def _masked_fill(g: Converter, a: SimpleNamespace) -> Any:
    return g("Where", a.mask, g.ref(a.value, a.x.dtype), a.x) if a.mask.dtype == np.bool_ else NotImplemented
