"""Windows that taper a signal at its ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..engine import errors
from ..engine.dtype import to_dtype
from ..engine.op import api
from ..engine.place import parse_place, put
from ..engine.tensor import Tensor, _make


def _window(
    name: str, length: int, periodic: bool, function: Callable, dtype: Any, device: Any, requires_grad: bool
) -> Tensor:
    """`function` of positions from 0 to 1; a periodic window is a symmetric one of one element more, without its
    last."""
    if isinstance(length, bool) or not isinstance(length, (int, np.integer)) or length < 0:
        raise errors.ValueError_(f"{name}: window_length must be an int of at least 0, got {length!r}")
    kind = to_dtype("float32" if dtype is None else dtype)
    if not kind.is_floating:
        raise errors.TypeError_(f"{name}: dtype must be a floating type, got {kind.name}")
    n = int(length) + bool(periodic)
    values = function(np.arange(n) / (n - 1))[:length] if n > 1 and length > 1 else np.ones(length)
    array = put(values.astype(kind.numpy), None if device is None else parse_place(device).device())
    out = _make(array)
    out.stop_gradient = not requires_grad
    return out


def _cosines(*factors: float) -> Callable:
    return lambda t: sum((-1) ** k * a * np.cos(2 * np.pi * k * t) for k, a in enumerate(factors))


@api(method=False)
def hann_window(
    window_length, periodic=True, *, dtype="float32", layout=None, device=None, pin_memory=False, requires_grad=False
):
    """The Hann window 0.5 - 0.5 cos(2 pi t).

    Args:
        window_length: how many elements.
        periodic: True for one period of a repeated signal (for `stft`), False for a symmetric window.
        dtype: a floating type.
        layout, pin_memory: accepted, without effect.
        device: where it shall lie, default the current device.
        requires_grad: True wants a gradient.

    Raises:
        ValueError: a negative length.
        TypeError: no floating type.

    Example:
        >>> paddle.hann_window(4, dtype="float64").numpy().round(2).tolist()
        [0.0, 0.5, 1.0, 0.5]
    """
    return _window("hann_window", window_length, periodic, _cosines(0.5, 0.5), dtype, device, requires_grad)


@api(method=False)
def hamming_window(
    window_length,
    periodic=True,
    alpha=0.54,
    beta=0.46,
    *,
    dtype="float32",
    layout=None,
    device=None,
    pin_memory=False,
    requires_grad=False,
):
    """The Hamming window alpha - beta cos(2 pi t); other arguments as in `hann_window`.

    Example:
        >>> paddle.hamming_window(4, dtype="float64").numpy().round(2).tolist()
        [0.08, 0.54, 1.0, 0.54]
    """
    return _window("hamming_window", window_length, periodic, _cosines(alpha, beta), dtype, device, requires_grad)


@api(method=False)
def blackman_window(
    window_length, periodic=True, *, dtype="float32", layout=None, device=None, pin_memory=False, requires_grad=False
):
    """The Blackman window 0.42 - 0.5 cos(2 pi t) + 0.08 cos(4 pi t); arguments as in `hann_window`.

    Example:
        >>> paddle.blackman_window(5, False, dtype="float64").numpy().round(2).tolist()
        [-0.0, 0.34, 1.0, 0.34, -0.0]
    """
    return _window("blackman_window", window_length, periodic, _cosines(0.42, 0.5, 0.08), dtype, device, requires_grad)


@api(method=False)
def bartlett_window(
    window_length, periodic=True, *, dtype="float32", layout=None, device=None, pin_memory=False, requires_grad=False
):
    """The Bartlett window, a triangle; arguments as in `hann_window`.

    Example:
        >>> paddle.bartlett_window(4).tolist()
        [0.0, 0.5, 1.0, 0.5]
    """
    return _window(
        "bartlett_window", window_length, periodic, lambda t: 1 - np.abs(2 * t - 1), dtype, device, requires_grad
    )


@api(method=False)
def kaiser_window(
    window_length,
    periodic=True,
    beta=12.0,
    *,
    dtype="float32",
    layout=None,
    device=None,
    pin_memory=False,
    requires_grad=False,
):
    """The Kaiser window I0(beta sqrt(1 - (2t - 1)^2)) / I0(beta); other arguments as in `hann_window`.

    Example:
        >>> paddle.kaiser_window(4, beta=5.0, dtype="float64").numpy().round(2).tolist()
        [0.04, 0.55, 1.0, 0.55]
    """

    def kaiser(t):
        return np.i0(beta * np.sqrt(np.maximum(1 - (2 * t - 1) ** 2, 0))) / np.i0(beta)

    return _window("kaiser_window", window_length, periodic, kaiser, dtype, device, requires_grad)
