"""How tensors print: the official layout, with `paddle.set_printoptions`."""

from __future__ import annotations

from math import isinf
from typing import Any

import numpy as np

from . import errors
from .modes import modes
from .value import ABSTRACT, Value

_options: dict[str, Any] = {"precision": 8, "threshold": 1000, "edgeitems": 3, "sci_mode": False, "linewidth": 80}


def set_printoptions(
    precision: int | None = None,
    threshold: int | None = None,
    edgeitems: int | None = None,
    sci_mode: bool | None = None,
    linewidth: int | None = None,
) -> None:
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
    given = {
        "precision": precision,
        "threshold": threshold,
        "edgeitems": edgeitems,
        "sci_mode": sci_mode,
        "linewidth": linewidth,
    }
    for key, value in given.items():
        if value is None:
            continue
        kind = bool if key == "sci_mode" else int
        if not isinstance(value, kind):
            raise errors.TypeError_(f"set_printoptions: {key} must be {kind.__name__}, got {type(value).__name__}")
        _options[key] = value


def _number(value: Any) -> str:
    precision, kind = _options["precision"], "e" if _options["sci_mode"] else "f"
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value))
    if isinstance(value, complex):
        return f"({value.real:.{precision}{kind}}{value.imag:+.{precision}{kind}}j)"
    if isinstance(value, float):
        return (
            f"{value:.0f}." if kind == "f" and (isinf(value) or value.is_integer()) else f"{value:.{precision}{kind}}"
        )
    return str(value)


def _padded(text: str, width: int, signed: bool) -> str:
    """Numbers stand to the left, one column in where others carry a minus."""
    if signed and len(text) < width and not text.startswith(("-", "(-")):
        text = " " + text
    return text.ljust(width)


def _join(parts: list[str], indent: int, width: int) -> str:
    """A row of numbers, as many in a line as fit when all have the full width."""
    n = max(1, (_options["linewidth"] - indent) // (width + 2))
    lines = [", ".join(parts[i : i + n]) for i in range(0, len(parts), n)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


def _body(array: np.ndarray, summarise: bool, indent: int, width: int, signed: bool) -> str:
    edge = _options["edgeitems"]
    if array.ndim == 0:
        return _number(array.item())
    cut = summarise and array.shape[0] > 2 * edge
    if array.ndim == 1:
        shown = array[:edge].tolist() + array[-edge:].tolist() if cut else array.tolist()
        rows = [_padded(_number(v), width, signed) for v in shown]
        if cut:
            rows.insert(edge, "...")
        return _join(rows, indent, width)
    rows = [
        _body(a, summarise, indent + 1, width, signed)
        for a in (list(array[:edge]) + list(array[-edge:]) if cut else array)
    ]
    if cut:
        rows.insert(edge, "...")
    separator = "," + "\n" * (array.ndim - 1) + " " * (indent + 1)
    return "[" + separator.join(rows) + "]"


def data_text(array: np.ndarray, indent: int) -> str:
    """The elements of an array as text; continuation lines start after `indent` blanks."""
    if array.dtype.kind == "V" or array.dtype.name in ("bfloat16", "float8_e4m3fn", "float8_e5m2"):
        array = array.astype(np.float32)
    if array.size == 0:
        return "[]" if array.ndim <= 1 or array.shape[0] == 0 else _body(array, False, indent, 0, False)
    edge, corners = _options["edgeitems"], array  # the width is that of the corners, also where all is shown
    for axis in range(array.ndim):
        if array.shape[axis] > 2 * edge:
            corners = np.concatenate([corners.take(range(edge), axis), corners.take(range(-edge, 0), axis)], axis)
    width = max([len(_number(v)) for v in corners.reshape(-1).tolist()], default=0)
    with np.errstate(invalid="ignore"):
        signed = bool((corners < 0).any())
    return _body(array, array.size > _options["threshold"], indent, width, signed)


def tensor_text(tensor: Any) -> str:
    """The official print of a tensor, such as ``Tensor(shape=[2], dtype=float32, place=Place(cpu), ...)``."""
    value = tensor._value
    if isinstance(value, Value):
        note = getattr(modes.program, "note_text", None)
        if note is not None:
            note()
        return (
            f"var {tensor.name} : Tensor(shape={[int(d) for d in value.shape]}, dtype={tensor.dtype.name}, "
            f"stop_gradient={tensor.stop_gradient})"
        )
    head = (
        f"Tensor(shape={list(value.shape)}, dtype={tensor.dtype.name}, place={tensor.place!r}, "
        f"stop_gradient={tensor.stop_gradient},\n       "
    )
    if isinstance(value, ABSTRACT):
        return head + f"{value})"
    return head + data_text(np.asarray(value), 7) + ")"
