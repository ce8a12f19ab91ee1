"""Window functions by name (Harris, "On the use of windows for harmonic analysis with the discrete Fourier transform",
1978). They are computed on the host, in float64.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...engine import errors
from ...engine.tensor import Tensor
from ...ops.creation import to_tensor

__all__ = ["get_window"]

_windows: dict[str, tuple[Callable, int]] = {}


def _window(needs: int = 0) -> Callable:
    """A function of the number of points and of parameters, `needs` of which have no default; symmetric."""

    def add(function: Callable) -> Callable:
        _windows[function.__name__.strip("_")] = (function, needs)
        return function

    return add


def _offsets(points: int) -> np.ndarray:
    """The distance of each point from the middle."""
    return np.arange(points) - (points - 1) / 2


def _cosines(points: int, weights: Sequence[float]) -> np.ndarray:
    angle = np.linspace(-np.pi, np.pi, points)
    return sum((w * np.cos(k * angle) for k, w in enumerate(weights)), np.zeros(points))


@_window(1)
def _general_cosine(points, a):
    return _cosines(points, a)


@_window(1)
def _general_hamming(points, alpha):
    return _cosines(points, [alpha, 1.0 - alpha])


@_window()
def _hann(points):
    return _cosines(points, [0.5, 0.5])


@_window()
def _hamming(points):
    return _cosines(points, [0.54, 0.46])


@_window()
def _blackman(points):
    return _cosines(points, [0.42, 0.50, 0.08])


@_window()
def _nuttall(points):
    return _cosines(points, [0.3635819, 0.4891775, 0.1365995, 0.0106411])


@_window()
def _cosine(points):
    return np.sin(np.pi / points * (np.arange(points) + 0.5))


@_window()
def _bohman(points):
    part = np.abs(np.linspace(-1, 1, points))
    out = (1 - part) * np.cos(np.pi * part) + np.sin(np.pi * part) / np.pi
    out[[0, -1]] = 0
    return out


@_window()
def _triang(points):
    half = (points + 1) // 2
    return 1 - np.abs(_offsets(points)) / (half if points % 2 else points / 2)


@_window()
def _bartlett(points):
    return np.bartlett(points)


@_window()
def _tukey(points, alpha=0.5):
    if alpha <= 0:
        return np.ones(points)
    edge = np.minimum(np.arange(points), np.arange(points)[::-1]) * 2 / (min(alpha, 1.0) * (points - 1))
    return 0.5 * (1 - np.cos(np.pi * np.minimum(edge, 1)))


@_window(1)
def _kaiser(points, beta):
    return np.kaiser(points, beta)


@_window(1)
def _gaussian(points, std):
    return np.exp(-((_offsets(points) / std) ** 2) / 2)


@_window(2)
def _general_gaussian(points, p, sig):
    return np.exp(-0.5 * np.abs(_offsets(points) / sig) ** (2 * p))


@_window()
def _exponential(points, center=None, tau=1.0):
    return np.exp(-np.abs(np.arange(points) - ((points - 1) / 2 if center is None else center)) / tau)


@_window()
def _taylor(points, nbar=4, sll=30, norm=True):
    ratio = np.arccosh(10 ** (sll / 20)) / np.pi
    m = np.arange(1, nbar)
    width = nbar**2 / (ratio**2 + (nbar - 0.5) ** 2)
    above = np.prod(1 - m[:, None] ** 2 / (width * (ratio**2 + (m - 0.5) ** 2)), 1)
    below = np.array([np.prod(1 - k**2 / m[m != k] ** 2) for k in m])
    weights = (-1.0) ** (m + 1) * above / (2 * below)

    def at(offset: np.ndarray) -> np.ndarray:
        return 1 + 2 * np.cos(2 * np.pi * np.outer(offset / points, m)) @ weights

    return at(_offsets(points)) / (at(np.zeros(1)) if norm else 1)


def get_window(window: Any, win_length: int, fftbins: bool = True, dtype: Any = "float64") -> Tensor:
    """A window by its name.

    Args:
        window: "hann", "hamming", "blackman", "bohman", "nuttall", "cosine", "tukey", "taylor", "triang", "bartlett",
            "exponential"; or a tuple of a name and its parameters, such as ("kaiser", beta), ("gaussian", std),
            ("general_gaussian", p, sig), ("exponential", center, tau), ("tukey", alpha), ("taylor", nbar, sll, norm),
            ("general_hamming", alpha), ("general_cosine", weights).
        win_length: the number of points.
        fftbins: periodic (for Fourier transforms); False gives a symmetric window.
        dtype: float32 or float64.

    Raises:
        ValueError: an unknown name, parameters that are missing or out of range, a negative length.

    Example:
        >>> paddle.audio.functional.get_window("hann", 4).tolist()
        [0.0, 0.5, 1.0, 0.5]
    """
    name, parameters = (window[0], window[1:]) if isinstance(window, (tuple, list)) and window else (window, ())
    if name not in _windows if isinstance(name, str) else True:
        raise errors.ValueError_(
            f"get_window: there is no window {errors.describe(window)}; known are {', '.join(sorted(_windows))}"
        )
    function, needs = _windows[name]
    if len(parameters) < needs:
        raise errors.ValueError_(f"get_window: {name!r} needs {needs} parameter(s): give a tuple (name, value, ...)")
    if isinstance(win_length, bool) or int(win_length) != win_length or win_length < 0:
        raise errors.ValueError_(f"get_window: win_length must be a non-negative integer, got {win_length!r}")
    if str(getattr(dtype, "name", dtype)) not in ("float32", "float64", "float16", "bfloat16"):
        raise errors.TypeError_(f"get_window: dtype must be a floating type, got {dtype!r}")
    if name == "exponential" and not fftbins and parameters and parameters[0] is not None:
        raise errors.ValueError_("get_window: a symmetric exponential window has its center in the middle (None)")
    if name in ("gaussian", "general_gaussian", "exponential") and len(parameters) > 1 - (name == "gaussian"):
        if not parameters[-1 if name != "exponential" else 1] > 0:
            raise errors.ValueError_(f"get_window: the width of {name!r} must be positive, got {parameters}")
    if name == "taylor" and parameters and not (isinstance(parameters[0], int) and parameters[0] > 0):
        raise errors.ValueError_(f"get_window: nbar of 'taylor' must be a positive integer, got {parameters[0]!r}")
    points = int(win_length)
    if points <= 1:
        return to_tensor(np.ones(points), dtype=dtype)
    try:
        values = function(points + bool(fftbins), *parameters)
    except TypeError:
        raise errors.TypeError_(f"get_window: {name!r} does not take the parameters {parameters}") from None
    return to_tensor(values[:points], dtype=dtype)
