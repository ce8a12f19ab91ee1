"""How many multiplications a network takes: `paddle.flops`."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import nn
from ..nn.layer import Layer
from .model_summary import examples, own_parameters, run_watched


def _elements(x: Any) -> int:
    return int(np.prod(x.shape))


def _convolution(layer: Any, x: Any, y: Any) -> int:
    if layer._transposed if hasattr(layer, "_transposed") else "Transpose" in type(layer).__name__:
        inputs = layer._in_channels / layer._groups
    else:
        inputs = layer.weight.shape[1]
    window = int(np.prod(layer.weight.shape[2:]))
    return int(_elements(y) * (inputs * window + (layer.bias is not None)))


def _adaptive_pooling(layer: Any, x: Any, y: Any) -> int:
    window = int(np.prod([a // b for a, b in zip(x.shape[2:], y.shape[2:])]))
    return (window + 1) * _elements(y)


# By type, the official way of counting: a multiplication with its addition is one, activations cost nothing.
COUNTS: dict[type, Callable[[Any, Any, Any], int]] = {
    **dict.fromkeys(
        (nn.Conv1D, nn.Conv2D, nn.Conv3D, nn.Conv1DTranspose, nn.Conv2DTranspose, nn.Conv3DTranspose), _convolution
    ),
    nn.BatchNorm2D: lambda layer, x, y: 2 * _elements(x),
    nn.BatchNorm: lambda layer, x, y: 2 * _elements(x),
    nn.ReLU: lambda layer, x, y: 0,
    nn.ReLU6: lambda layer, x, y: 0,
    nn.LeakyReLU: lambda layer, x, y: _elements(x),
    nn.Linear: lambda layer, x, y: layer.weight.shape[0] * _elements(y),
    nn.Dropout: lambda layer, x, y: 0,
    **dict.fromkeys((nn.AvgPool1D, nn.AvgPool2D, nn.AvgPool3D), lambda layer, x, y: _elements(y)),
    **dict.fromkeys((nn.AdaptiveAvgPool1D, nn.AdaptiveAvgPool2D, nn.AdaptiveAvgPool3D), _adaptive_pooling),
}


def flops(net: Any, input_size: Any, custom_ops: Any = None, print_detail: bool = False) -> int:
    """Count the multiply-additions of a forward pass, layer by layer, and print the total.

    Args:
        net: a Layer.
        input_size: the shape of its input.
        custom_ops: functions by layer type; ``f(layer, inputs, output)`` sets or raises ``layer.total_ops``.
        print_detail: print a table of the layers.

    Returns:
        The number; -1 with a warning when `net` is no Layer.

    Raises:
        NotImplementedError: for a static program.

    Example:
        >>> paddle.flops(paddle.nn.Sequential(paddle.nn.Linear(3, 4)), [2, 3])
        <class 'paddle.nn.layer.common.Linear'>'s flops has been counted
        Total Flops: 24     Total Params: 16
        24
    """
    if not isinstance(net, Layer):
        if type(net).__name__ in ("Program", "CompiledProgram"):
            from ..engine import errors

            raise errors.NotImplemented_("flops: of a static program; count its layers")
        warnings.warn("Your model must be an instance of paddle.nn.Layer or paddle.static.Program.", stacklevel=2)
        return -1
    leaves = [layer for layer in net.sublayers(include_self=True) if not list(layer.children())]
    custom = dict(custom_ops or {})
    _announce(leaves, custom)
    rows: dict[int, list] = {}
    total = 0

    def watch(layer: Layer, inputs: Any, output: Any) -> None:
        nonlocal total
        if list(layer.children()):
            return
        x = inputs[0] if isinstance(inputs, (list, tuple)) and inputs else inputs
        y = output[0] if isinstance(output, (list, tuple)) and output else output
        if type(layer) in custom:
            count = _custom(layer, custom[type(layer)], inputs, output)
        elif type(layer) in COUNTS:
            count = COUNTS[type(layer)](layer, x, y)
        else:
            count = 0
        total += count
        if id(layer) in rows:
            rows[id(layer)][4] += count
        else:
            size = sum(_elements(t) for t in own_parameters(layer))
            rows[id(layer)] = [layer.full_name(), list(np.shape(x)), list(np.shape(y)), size, count]

    run_watched(net, examples([input_size], None, "flops"), watch)
    distinct = {id(t): t for t in net.state_dict().values()}
    parameters = sum(_elements(t) for t in distinct.values())
    if print_detail:
        print(_table(list(rows.values())))
    print(f"Total Flops: {total}     Total Params: {parameters}")
    return total


def _announce(leaves: list[Layer], custom: dict) -> None:
    """Say once for each type how it is counted."""
    for kind in dict.fromkeys(type(layer) for layer in leaves):
        name = str(kind).replace("paddle.nn.layers.", "paddle.nn.layer.")  # its official module
        if kind in custom:
            print(f"Customize Function has been applied to {name}")
        elif kind in COUNTS:
            print(f"{name}'s flops has been counted")
        else:
            print(f"Cannot find suitable count function for {name}. Treat it as zero FLOPs.")


def _custom(layer: Any, count: Callable, inputs: Any, output: Any) -> int:
    object.__setattr__(layer, "total_ops", 0)
    try:
        count(layer, inputs, output)
        return int(np.asarray(layer.total_ops).reshape(-1)[0])
    finally:
        object.__delattr__(layer, "total_ops")


def _table(rows: list[list]) -> str:
    heads = ["Layer Name", "Input Shape", "Output Shape", "Params", "Flops"]
    cells = [[str(c) for c in row] for row in rows]
    widths = [max(len(r[i]) for r in [heads, *cells]) + 2 for i in range(5)]
    rule = "+" + "+".join("-" * w for w in widths) + "+"
    lines = ["|" + "|".join(map(_centred, row, widths)) + "|" for row in [heads, *cells]]
    return "\n".join([rule, lines[0], rule, *lines[1:], rule])


def _centred(text: str, width: int) -> str:
    space = width - len(text)
    left = space // 2 + (space % 2 and len(text) % 2 == 0)
    return " " * left + text + " " * (space - left)
