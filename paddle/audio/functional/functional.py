"""Mel scales, filter banks, the discrete cosine transform, decibels."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...engine import errors
from ...engine.dtype import to_dtype
from ...engine.tensor import Tensor
from ...ops.creation import to_tensor
from ...ops.elementwise import exp, log, log10
from ...ops.manipulation import cast
from ...ops.math import maximum
from ...ops.selection import where

__all__ = [
    "compute_fbank_matrix",
    "create_dct",
    "fft_frequencies",
    "hz_to_mel",
    "mel_frequencies",
    "mel_to_hz",
    "power_to_db",
]

# The scale of Slaney's "Auditory Toolbox" (1998): linear up to 1000 Hz, logarithmic above.
_STEP = 200.0 / 3
_KNEE_HZ = 1000.0
_KNEE_MEL = _KNEE_HZ / _STEP
_RATIO = np.log(6.4) / 27.0


def _floats(x: Tensor) -> Tensor:
    return x if x.is_floating_point() else cast(x, "float32")


def _mel(freq: Any, htk: bool) -> Any:
    """On the host, in float64."""
    freq = np.asarray(freq, "float64")
    if htk:
        return 2595.0 * np.log10(1.0 + freq / 700.0)
    above = np.maximum(freq, _KNEE_HZ)
    return np.where(freq >= _KNEE_HZ, _KNEE_MEL + np.log(above / _KNEE_HZ) / _RATIO, freq / _STEP)


def _hz(mel: Any, htk: bool) -> Any:
    mel = np.asarray(mel, "float64")
    if htk:
        return 700.0 * (10.0 ** (mel / 2595.0) - 1.0)
    above = np.maximum(mel, _KNEE_MEL)
    return np.where(mel >= _KNEE_MEL, _KNEE_HZ * np.exp(_RATIO * (above - _KNEE_MEL)), mel * _STEP)


def hz_to_mel(freq: Tensor | float, htk: bool = False) -> Tensor | float:
    """Frequencies in hertz on the mel scale of Slaney's Auditory Toolbox (1998), or of HTK. A number gives a number.

    Example:
        >>> round(paddle.audio.functional.hz_to_mel(500.0), 3)
        7.5
    """
    if not isinstance(freq, Tensor):
        return float(_mel(freq, htk))
    freq = _floats(freq)
    if htk:
        return 2595.0 * log10(1.0 + freq / 700.0)
    above = log(maximum(freq, _KNEE_HZ) / _KNEE_HZ) / _RATIO
    return where(freq >= _KNEE_HZ, above + _KNEE_MEL, freq / _STEP)


def mel_to_hz(mel: Tensor | float, htk: bool = False) -> Tensor | float:
    """The frequencies in hertz of positions on the mel scale: the inverse of `hz_to_mel`.

    Example:
        >>> round(paddle.audio.functional.mel_to_hz(7.5), 3)
        500.0
    """
    if not isinstance(mel, Tensor):
        return float(_hz(mel, htk))
    mel = _floats(mel)
    if htk:
        return 700.0 * (10.0 ** (mel / 2595.0) - 1.0)
    above = _KNEE_HZ * exp(_RATIO * (maximum(mel, _KNEE_MEL) - _KNEE_MEL))
    return where(mel >= _KNEE_MEL, above, mel * _STEP)


def _count(name: str, argument: str, value: Any, low: int) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__") or value.__index__() < low:
        raise errors.ValueError_(f"{name}: {argument} must be an integer of at least {low}, got {value!r}")
    return value.__index__()


def _between(n: int, f_min: float, f_max: float, htk: bool) -> np.ndarray:
    return _hz(np.linspace(_mel(f_min, htk), _mel(f_max, htk), n), htk)


def mel_frequencies(
    n_mels: int = 64, f_min: float = 0.0, f_max: float = 11025.0, htk: bool = False, dtype: Any = "float32"
) -> Tensor:
    """`n_mels` frequencies in hertz, evenly spaced on the mel scale from `f_min` to `f_max`.

    Example:
        >>> paddle.audio.functional.mel_frequencies(3, 0.0, 1000.0).tolist()
        [0.0, 500.0, 1000.0]
    """
    n = _count("mel_frequencies", "n_mels", n_mels, 0)
    return to_tensor(_between(n, f_min, f_max, htk), dtype=dtype)


def fft_frequencies(sr: int, n_fft: int, dtype: Any = "float32") -> Tensor:
    """The frequencies in hertz of the `n_fft // 2 + 1` values of a real Fourier transform, from 0 to `sr / 2`.

    Example:
        >>> paddle.audio.functional.fft_frequencies(8000, 4).tolist()
        [0.0, 2000.0, 4000.0]
    """
    n = _count("fft_frequencies", "n_fft", n_fft, 1)
    return to_tensor(np.linspace(0.0, float(sr) / 2, n // 2 + 1), dtype=dtype)


def compute_fbank_matrix(
    sr: int,
    n_fft: int,
    n_mels: int = 64,
    f_min: float = 0.0,
    f_max: float | None = None,
    htk: bool = False,
    norm: str | float | None = "slaney",
    dtype: Any = "float32",
) -> Tensor:
    """The triangular filters that sum a power spectrum into mel bands.

    Args:
        sr: samples a second.
        n_fft: points of the Fourier transform.
        n_mels, f_min, f_max: number of bands and their range in hertz; by default up to sr / 2.
        htk: the scale of HTK.
        norm: "slaney" gives every band the same area, a number p divides by its p-norm, None leaves the peaks at 1.

    Returns:
        Tensor [n_mels, n_fft // 2 + 1].

    Raises:
        ValueError: sizes below 1, f_min above f_max, an unknown norm.

    Example:
        >>> paddle.audio.functional.compute_fbank_matrix(8000, 64, n_mels=8).shape
        [8, 33]
    """
    name = "compute_fbank_matrix"
    n_mels, n_fft = _count(name, "n_mels", n_mels, 1), _count(name, "n_fft", n_fft, 1)
    f_max = sr / 2 if f_max is None else f_max
    if not 0 <= f_min < f_max:
        raise errors.ValueError_(f"{name}: f_min must be in [0, f_max), got f_min={f_min}, f_max={f_max}")
    edges = _between(n_mels + 2, f_min, f_max, htk)
    distance = edges[:, None] - np.linspace(0.0, float(sr) / 2, n_fft // 2 + 1)
    widths = np.diff(edges)[:, None]
    filters = np.maximum(0, np.minimum(-distance[:-2] / widths[:-1], distance[2:] / widths[1:]))
    if norm == "slaney":
        filters *= 2 / (edges[2:] - edges[:-2])[:, None]
    elif isinstance(norm, (int, float)) and not isinstance(norm, bool) and norm > 0:
        filters /= np.maximum(np.linalg.norm(filters, ord=norm, axis=1, keepdims=True), 1e-12)
    elif norm is not None:
        raise errors.ValueError_(f"{name}: norm must be 'slaney', a positive number or None, got {norm!r}")
    return to_tensor(filters, dtype=dtype)


def power_to_db(spect: Tensor, ref_value: float = 1.0, amin: float = 1e-10, top_db: float | None = 80.0) -> Tensor:
    """Powers in decibels relative to `ref_value`: 10 log10(spect / ref_value).

    Args:
        spect: powers, of any shape.
        amin: smaller powers count as this one.
        top_db: everything lies at most this far below the maximum; None for no limit.

    Raises:
        ValueError: `amin` or `ref_value` not positive, `top_db` negative.

    Example:
        >>> paddle.audio.functional.power_to_db(paddle.to_tensor([1.0, 100.0])).tolist()
        [0.0, 20.0]
    """
    if not amin > 0:
        raise errors.ValueError_(f"power_to_db: amin must be positive, got {amin}")
    if not ref_value > 0:
        raise errors.ValueError_(f"power_to_db: ref_value must be positive, got {ref_value}")
    if top_db is not None and not top_db >= 0:
        raise errors.ValueError_(f"power_to_db: top_db must be at least 0 or None, got {top_db}")
    spect = _floats(spect if isinstance(spect, Tensor) else to_tensor(spect))
    out = 10.0 * log10(maximum(spect, amin)) - 10.0 * float(np.log10(max(amin, ref_value)))
    if top_db is not None and spect.size:
        out = maximum(out, out.max() - top_db)
    return out


def create_dct(n_mfcc: int, n_mels: int, norm: str | None = "ortho", dtype: Any = "float32") -> Tensor:
    """The matrix of the discrete cosine transform of type II that makes cepstral coefficients of mel bands.

    Args:
        norm: "ortho" for an orthonormal transform, or None.

    Returns:
        Tensor [n_mels, n_mfcc].

    Raises:
        ValueError: sizes below 1, an unknown norm.

    Example:
        >>> paddle.audio.functional.create_dct(1, 4).tolist()
        [[0.5], [0.5], [0.5], [0.5]]
    """
    n_mfcc, n_mels = _count("create_dct", "n_mfcc", n_mfcc, 1), _count("create_dct", "n_mels", n_mels, 1)
    if norm not in ("ortho", None):
        raise errors.ValueError_(f"create_dct: norm must be 'ortho' or None, got {norm!r}")
    k = np.arange(n_mfcc)
    out = 2 * np.cos(np.pi / n_mels * (np.arange(n_mels)[:, None] + 0.5) * k)
    if norm == "ortho":
        out *= np.where(k == 0, np.sqrt(0.25 / n_mels), np.sqrt(0.5 / n_mels))
    return to_tensor(out, dtype=to_dtype(dtype))
