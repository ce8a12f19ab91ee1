"""How tensors print: the official layout, with `paddle.set_printoptions`."""
from __future__ import annotations

from typing import Any

import jax
import numpy as np

from . import errors

_options: dict[str, Any] = {"precision": 8, "threshold": 1000, "edgeitems": 3, "sci_mode": False, "linewidth": 80}


def set_printoptions(precision: int | None = None, threshold: int | None = None, edgeitems: int | None = None,
                     sci_mode: bool | None = None, linewidth: int | None = None) -> None:
    """Set how tensors print.

    Args:
        precision: digits after the point, default 8.
        threshold: the number of elements from which the print is summarised, default 1000.
        edgeitems: elements shown at each end of a summarised dimension, default 3.
        sci_mode: scientific notation.
        linewidth: characters in a line, default 80.

    Raises:
        TypeError: an argument that is not of its type.
    """
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "sci_mode": sci_mode, "linewidth": linewidth}
    for key, value in given.items():
        if value is None:
            continue
        kind = bool if key == "sci_mode" else int
        if not isinstance(value, kind):
            raise errors.TypeError_(f"set_printoptions: {key} must be {kind.__name__}, got {type(value).__name__}")
        _options[key] = value


def _number(value: Any) -> str:
    precision = _options["precision"]
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value))
    if isinstance(value, complex):
        return f"({_number(value.real)}{'+' if value.imag >= 0 or value.imag != value.imag else '-'}{_number(abs(value.imag))}j)"
    if isinstance(value, float):
        if _options["sci_mode"]:
            return f"{value:.{precision}e}"
        if value in (float("inf"), float("-inf")) or value != value:
            return str(value)
        if value == int(value):
            return f"{value:.0f}."
        return f"{value:.{precision}f}"
    return str(value)


def _join(parts: list[str], indent: int, width: int) -> str:
    lines, line = [], ""
    for i, part in enumerate(parts):
        text = part + (", " if i + 1 < len(parts) else "")
        if line and indent + 1 + len(line) + len(text.rstrip()) >= _options["linewidth"]:
            lines.append(line.rstrip())
            line = ""
        line += text
    lines.append(line)
    return "[" + ("\n" + " " * (indent + 1)).join(lines) + "]"


def _body(array: np.ndarray, summarise: bool, indent: int, width: int) -> str:
    edge = _options["edgeitems"]
    if array.ndim == 0:
        return _number(array.item())
    cut = summarise and array.shape[0] > 2 * edge
    if array.ndim == 1:
        rows = [_number(v).ljust(width) for v in (list(array[:edge].tolist()) + list(array[-edge:].tolist()) if cut else array.tolist())]
        if cut:
            rows.insert(edge, "...")
        return _join(rows, indent, width)
    rows = [_body(a, summarise, indent + 1, width) for a in (list(array[:edge]) + list(array[-edge:]) if cut else array)]
    if cut:
        rows.insert(edge, "...")
    separator = "," + "\n" * (array.ndim - 1) + " " * (indent + 1)
    return "[" + separator.join(rows) + "]"


def data_text(array: np.ndarray, indent: int) -> str:
    """The elements of an array as text; continuation lines start after `indent` blanks."""
    if array.dtype.kind == "V" or array.dtype.name in ("bfloat16", "float8_e4m3fn", "float8_e5m2"):
        array = array.astype(np.float32)
    if array.size == 0:
        return "[]" if array.ndim <= 1 or array.shape[0] == 0 else _body(array, False, indent, 0)
    summarise = array.size > _options["threshold"]
    shown = array
    if summarise:
        edge = _options["edgeitems"]
        for axis in range(array.ndim):
            if array.shape[axis] > 2 * edge:
                shown = np.concatenate([shown.take(range(edge), axis), shown.take(range(-edge, 0), axis)], axis)
    width = max(len(_number(v)) for v in shown.reshape(-1).tolist())
    return _body(array, summarise, indent, width)


def tensor_text(tensor: Any) -> str:
    """The official print of a tensor, such as ``Tensor(shape=[2], dtype=float32, place=Place(cpu), ...)``."""
    value = tensor._value
    head = (f"Tensor(shape={list(value.shape)}, dtype={tensor.dtype.name}, place={tensor.place!r}, "
            f"stop_gradient={tensor.stop_gradient},\n       ")
    if isinstance(value, jax.core.Tracer):
        return head + f"{value})"
    return head + data_text(np.asarray(value), 7) + ")"
