"""The layers of a network as a table: `paddle.summary`."""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..engine import errors
from ..engine.dtype import to_dtype
from ..engine.modes import no_grad
from ..engine.tensor import Tensor
from ..nn.container import Sequential
from ..nn.layer import Layer
from ..nn.training_mode import in_mode


@dataclass
class Row:
    """One layer: what went in and came out, and its own parameters."""

    name: str
    inputs: Any
    output: Any
    total: int
    trainable: int
    elements: int  # of the output


def summary(net: Layer, input_size: Any = None, dtypes: Any = None, input: Any = None) -> dict[str, int]:
    """Print the layers that a forward pass runs through, with shapes and numbers of parameters.

    Args:
        net: a Layer.
        input_size: a shape, an InputSpec, or a list of them, one for each input; unknown lengths count as 1.
        dtypes: the type of the inputs, or a list of them; default float32.
        input: a Tensor (or what else `forward` takes as its only argument) instead of the two.

    Returns:
        ``{"total_params": ..., "trainable_params": ...}``; buffers such as running means count as not trainable.

    Raises:
        ValueError: neither size nor input, or a length of 0 or below -1.

    Example:
        >>> import contextlib, io
        >>> with contextlib.redirect_stdout(io.StringIO()):
        ...     numbers = paddle.summary(paddle.nn.Linear(3, 2), (1, 3))
        >>> numbers
        {'total_params': 8, 'trainable_params': 8}
    """
    if not isinstance(net, Layer):
        raise errors.TypeError_(f"summary: net must be a paddle.nn.Layer, got {type(net).__name__}")
    if input_size is None and input is None:
        raise errors.ValueError_("summary: input_size and input cannot be None at the same time")
    given = [input] if input is not None else examples(input_size, dtypes, "summary")
    rows = _rows(net, given)
    print(_table(rows, given) + "\n")
    return {"total_params": sum(r.total for r in rows), "trainable_params": sum(r.trainable for r in rows)}


def examples(sizes: Any, dtypes: Any, who: str) -> list[Tensor]:
    """Tensors of the given shapes: a shape, an InputSpec, or a list of them."""
    if isinstance(sizes, numbers.Integral) or hasattr(sizes, "shape"):
        sizes = [sizes]
    elif isinstance(sizes, (list, tuple)) and all(isinstance(s, numbers.Number) or s is None for s in sizes):
        sizes = [sizes]  # one shape
    elif not isinstance(sizes, (list, tuple)):
        raise errors.TypeError_(f"{who}: input_size must be a shape or a list of shapes, got {errors.describe(sizes)}")
    kinds = list(dtypes) if isinstance(dtypes, (list, tuple)) else [dtypes] * len(sizes)
    if len(kinds) != len(sizes):
        raise errors.ValueError_(f"{who}: {len(sizes)} inputs but {len(kinds)} dtypes")
    return [_example(size, kind, who) for size, kind in zip(sizes, kinds)]


def _example(size: Any, dtype: Any, who: str) -> Tensor:
    from ..ops.creation import to_tensor

    if dtype is None:
        dtype = getattr(size, "dtype", None) or "float32"
    shape = getattr(size, "shape", [size] if isinstance(size, numbers.Integral) else size)
    if not isinstance(shape, (list, tuple)):
        raise errors.TypeError_(f"{who}: a shape is expected, got {errors.describe(shape)}")
    lengths = []
    for n in shape:
        if n is None or (isinstance(n, numbers.Integral) and n == -1):
            n = 1
        if isinstance(n, bool) or not isinstance(n, numbers.Integral):
            raise errors.TypeError_(f"{who}: a shape holds ints, got {n!r} in {list(shape)}")
        if n <= 0:
            raise errors.ValueError_(f"{who}: Expected element in input size greater than zero, but got {n}")
        lengths.append(int(n))
    kind = to_dtype(dtype)
    values = np.random.RandomState(0).rand(*lengths)  # the generator of the user is left alone
    return to_tensor(values if kind.is_floating else np.zeros(lengths)).astype(kind)


def run_watched(net: Layer, given: list, watch: Any) -> None:
    """A forward pass in evaluation mode without gradients; `watch(layer, inputs, output)` sees each layer's call."""
    layers = net.sublayers(include_self=True)
    hooks = [layer.register_forward_post_hook(watch) for layer in layers]
    try:
        with in_mode(net, False), no_grad():
            net(*given)
    finally:
        for hook in hooks:
            hook.remove()


def own_parameters(layer: Layer) -> list[Tensor]:
    """The parameters and buffers that the layer itself (no sublayer) holds and saves."""
    return list(layer.state_dict(include_sublayers=False).values())


def _size(tensors: list[Tensor]) -> int:
    return sum(int(np.prod(t.shape)) for t in tensors)


def _rows(net: Layer, given: list) -> list[Row]:
    rows: list[Row] = []
    seen: set[int] = set()
    counted: set[int] = set()  # parameters that several layers share

    def watch(layer: Layer, inputs: Any, output: Any) -> None:
        if id(layer) in seen or isinstance(layer, Sequential):
            return
        seen.add(id(layer))
        own = [t for t in own_parameters(layer) if id(t) not in counted]
        if layer is net and not own and list(net.children()):  # the whole is no part of itself
            return
        counted.update(map(id, own))
        rows.append(
            Row(
                f"{type(layer).__name__}-{_number(layer)}",
                [_shapes(i) for i in (inputs if isinstance(inputs, (list, tuple)) else [inputs])],
                _shapes(output),
                _size(own),
                _size([t for t in own if not t.stop_gradient]),
                _elements(output),
            )
        )

    run_watched(net, given, watch)
    return rows


def _number(layer: Layer) -> int:
    digits = layer.full_name().rsplit("_", 1)[-1]
    return int(digits) + 1 if digits.isdigit() else 1


def _shapes(value: Any) -> Any:
    if isinstance(value, Tensor):
        return list(value.shape)
    if isinstance(value, (list, tuple)):
        return [_shapes(v) for v in value]
    return [] if isinstance(value, dict) else None


def _elements(value: Any) -> int:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return sum(map(_elements, value))
    return int(np.prod(value.shape)) if isinstance(value, Tensor) else 0


def _table(rows: list[Row], given: list) -> str:
    cells = [(r.name, str(r.inputs), str(r.output), f"{r.total:,}") for r in rows]
    heads = ("Layer (type)", "Input Shape", "Output Shape", "Param #")
    widths = [max(low, *(len(c[i]) for c in cells), 0) for i, low in enumerate((15, 20, 20, 15))]
    length = sum(widths) + 5

    def line(parts: tuple) -> str:
        return " ".join(f"{part:^{width}}" for part, width in zip(parts, widths))

    total, trainable = sum(r.total for r in rows), sum(r.trainable for r in rows)
    megabytes = 4 / 1024**2  # of a float32
    inputs, passes, weights = (n * megabytes for n in (_elements(given), 2 * sum(r.elements for r in rows), total))
    return "\n".join(
        [
            "-" * length,
            line(heads),
            "=" * length,
            *map(line, cells),
            "=" * length,
            f"Total params: {total:,}",
            f"Trainable params: {trainable:,}",
            f"Non-trainable params: {total - trainable:,}",
            "-" * length,
            f"Input size (MB): {inputs:0.2f}",
            f"Forward/backward pass size (MB): {passes:0.2f}",
            f"Params size (MB): {weights:0.2f}",
            f"Estimated Total Size (MB): {inputs + passes + weights:0.2f}",
            "-" * length,
        ]
    )
