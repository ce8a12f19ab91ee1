"""Short-time Fourier analysis: frames of a signal, their overlap, and the transforms made of them."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from ..engine import errors
from ..engine.op import api, op
from .checks import satisfies
from .fourier import _fourier, _wide, complex_type
from .manipulation import cast, tensor_of


def _positive(name: str, argument: str, value: Any, most: int | None = None) -> int:
    """An int of at least 1 (and at most `most`), ValueError otherwise."""
    if not hasattr(value, "__index__") or value.__index__() < 1 or most is not None and value.__index__() > most:
        limit = "" if most is None else f" and at most {most}"
        raise errors.ValueError_(
            f"{name}: {argument} must be an int of at least 1{limit}, got {errors.describe(value)}"
        )
    return value.__index__()


def _check_axis(name: str, axis: Any) -> None:
    if axis not in (0, -1):
        raise errors.ValueError_(f"{name}: axis must be 0 or -1, got {axis}")


# ---- frames ----


def _positions(frames: int, frame_length: int, hop_length: int) -> np.ndarray:
    """The positions in the signal of the elements of the frames, shape [frame_length, frames]."""
    return np.arange(frame_length)[:, None] + hop_length * np.arange(frames)


@op(method=False, export=False, name="frame", static="frame_length hop_length")
def _frame(x, frame_length, hop_length, axis):
    at = _positions(1 + (x.shape[axis] - frame_length) // hop_length, frame_length, hop_length)
    return x[at.T] if axis == 0 else x[..., at]


@api(method=False)
def frame(x, frame_length, hop_length, axis=-1):
    """Cut a signal into frames that may overlap; what is left at the end is dropped.

    Args:
        x: shape [..., length], or [length, ...] with `axis=0`.
        frame_length: the length of a frame, at most that of the signal.
        hop_length: the distance of the starts of two frames.
        axis: -1 gives [..., frame_length, frames], 0 gives [frames, frame_length, ...].

    Raises:
        ValueError: a length that is not positive or exceeds that of the signal; another axis.

    Example:
        >>> paddle.signal.frame(paddle.arange(4), 2, 1).tolist()
        [[0, 1, 2], [1, 2, 3]]
    """
    _check_axis("frame", axis)
    if not tensor_of("frame", x).ndim:
        raise errors.ValueError_("frame: x must have at least one dimension")
    frame_length = _positive("frame", "frame_length", frame_length, x.shape[axis])
    return _frame(x, frame_length, _positive("frame", "hop_length", hop_length), axis)


def _overlap(x, hop_length):
    """The sum of the frames in the last two axes, [..., frame_length, frames], each at its place in the signal."""
    frame_length, frames = x.shape[-2:]
    out = jnp.zeros((*x.shape[:-2], max(frames - 1, 0) * hop_length + frame_length), x.dtype)
    return out.at[..., _positions(frames, frame_length, hop_length)].add(x)


@op(method=False, export=False, name="overlap_add", static="hop_length")
def _overlap_add(x, hop_length, axis):
    if axis == -1:
        return _overlap(x, hop_length)
    return jnp.moveaxis(_overlap(jnp.moveaxis(x, (1, 0), (-2, -1)), hop_length), -1, 0)


@api(method=False)
def overlap_add(x, hop_length, axis=-1):
    """Put frames together to a signal, adding where they overlap.

    Args:
        x: shape [..., frame_length, frames], or [frames, frame_length, ...] with `axis=0`.
        hop_length: the distance of the starts of two frames, at most frame_length.

    Raises:
        ValueError: a hop_length out of range, another axis, x with fewer than two dimensions.

    Example:
        >>> paddle.signal.overlap_add(paddle.ones([2, 3]), 1).tolist()
        [1.0, 2.0, 2.0, 1.0]
    """
    _check_axis("overlap_add", axis)
    if tensor_of("overlap_add", x).ndim < 2:
        raise errors.ValueError_(f"overlap_add: x must have at least 2 dimensions, got {errors.describe(x)}")
    return _overlap_add(x, _positive("overlap_add", "hop_length", hop_length, x.shape[-2 if axis == -1 else 1]), axis)


# ---- short-time Fourier transforms ----


def _arguments(name: str, n_fft: Any, hop_length: Any, win_length: Any, window: Any, points: int | None = None):
    """n_fft, hop_length and win_length with their defaults as ints; `points` is the length of the signal."""
    n_fft = _positive(name, "n_fft", n_fft, points)
    win_length = n_fft if win_length is None else _positive(name, "win_length", win_length, n_fft)
    hop_length = _positive(name, "hop_length", n_fft // 4 if hop_length is None else hop_length)
    if window is not None and (tensor_of(name, window, "window").ndim != 1 or window.shape[0] != win_length):
        raise errors.ValueError_(
            f"{name}: window must have the shape [{win_length}] that win_length says, got {errors.describe(window)}"
        )
    return n_fft, hop_length, win_length


def _is_complex(*tensors: Any) -> bool:
    return any(t is not None and t.dtype.is_complex for t in tensors)


def _full_window(window, win_length, n_fft, dtype):
    """The window, ones where none is given, amid n_fft elements."""
    if window is None:
        window = jnp.ones(win_length, dtype)
    before = (n_fft - win_length) // 2
    return jnp.pad(window, (before, n_fft - win_length - before))


@op(method=False, export=False, name="stft", static="n_fft hop_length win_length")
def _stft(x, window, n_fft, hop_length, win_length, pad_mode, norm, onesided):
    window = _full_window(window, win_length, n_fft, x.dtype)
    if pad_mode is not None:
        x = jnp.pad(x, [(0, 0)] * (x.ndim - 1) + [(n_fft // 2, n_fft // 2)], pad_mode)
    at = _positions(1 + (x.shape[-1] - n_fft) // hop_length, n_fft, hop_length)
    frames = x[..., at] * window[:, None]
    return _fourier.__wrapped__(frames, "rfftn" if onesided else "fftn", (n_fft,), (x.ndim - 1,), norm)


@api
def stft(
    x,
    n_fft,
    hop_length=None,
    win_length=None,
    window=None,
    center=True,
    pad_mode="reflect",
    normalized=False,
    onesided=None,
):
    """The short-time Fourier transform (Allen, Rabiner, "A Unified Approach to Short-Time Fourier Analysis", 1977).

    Args:
        x: shape [length] or [batch, length], real or complex.
        n_fft: the number of points of each transform, at most length.
        hop_length: the distance of the starts of two frames, by default n_fft // 4.
        win_length: by default n_fft; a shorter window lies in the middle of the frame.
        window: shape [win_length], by default ones.
        center: pad by n_fft // 2 on both sides, so that frames are centred on their time.
        pad_mode: "reflect" or "constant".
        normalized: divide by sqrt(n_fft).
        onesided: only the first n_fft // 2 + 1 frequencies; by default when everything is real.

    Returns:
        Complex, shape [frequencies, frames] or [batch, frequencies, frames].

    Raises:
        ValueError: lengths out of range, a window of another length, onesided with complex numbers.

    Example:
        >>> paddle.signal.stft(paddle.ones([16]), n_fft=8).shape
        [5, 9]
    """
    if tensor_of("stft", x).ndim not in (1, 2):
        raise errors.ValueError_(f"stft: x must have 1 or 2 dimensions, got {errors.describe(x)}")
    n_fft, hop_length, win_length = _arguments("stft", n_fft, hop_length, win_length, window, x.shape[-1])
    if center and pad_mode not in ("reflect", "constant"):
        raise errors.ValueError_(f"stft: pad_mode must be 'reflect' or 'constant', got {pad_mode!r}")
    if onesided and _is_complex(x, window):
        raise errors.ValueError_("stft: onesided must be False where x or window is complex")
    if onesided is None:
        onesided = not _is_complex(x, window)
    return _stft(
        _wide(x),
        window,
        n_fft,
        hop_length,
        win_length,
        pad_mode if center else None,
        "ortho" if normalized else "backward",
        bool(onesided),
    )


@op(method=False, export=False, name="istft", static="n_fft hop_length win_length length")
def _istft(x, window, n_fft, hop_length, win_length, center, norm, onesided, length, return_complex):
    frames = _fourier.__wrapped__(x, "irfftn" if onesided else "ifftn", (n_fft,), (x.ndim - 2,), norm)
    if not return_complex:
        frames = frames.real
    window = _full_window(window, win_length, n_fft, np.finfo(x.dtype).dtype)
    out = _overlap(frames * window[:, None], hop_length)
    weight = _overlap(jnp.repeat((window * window)[:, None], x.shape[-1], 1), hop_length)
    start = n_fft // 2 if center else 0
    end = out.shape[-1] - start if length is None else start + length
    out, weight = out[..., start:end], weight[start:end]
    return out / weight, jnp.min(jnp.abs(weight), initial=jnp.inf)


@api
def istft(
    x,
    n_fft,
    hop_length=None,
    win_length=None,
    window=None,
    center=True,
    normalized=False,
    onesided=True,
    length=None,
    return_complex=False,
):
    """The inverse of `stft`: the signal with the least squared difference of its frames (Griffin, Lim, "Signal
    Estimation from Modified Short-Time Fourier Transform", 1984).

    Args:
        x: shape [frequencies, frames] or [batch, frequencies, frames]; the other arguments as they were for `stft`.
        length: cut the signal to this length.
        return_complex: whether the signal is complex; not with `onesided`.

    Raises:
        ValueError: arguments that do not fit x; windows that do not cover every element (on the CPU).

    Example:
        >>> x = paddle.arange(16).astype("float32")
        >>> paddle.signal.istft(paddle.signal.stft(x, 8), 8).shape
        [16]
    """
    if tensor_of("istft", x).ndim not in (2, 3) or not x.size:
        raise errors.ValueError_(f"istft: x must have 2 or 3 dimensions and not be empty, got {errors.describe(x)}")
    n_fft, hop_length, win_length = _arguments("istft", n_fft, hop_length, win_length, window)
    _positive("istft", "hop_length", hop_length, win_length)
    wanted = n_fft // 2 + 1 if onesided else n_fft
    if x.shape[-2] != wanted:
        raise errors.ValueError_(
            f"istft: x must have {wanted} frequencies for n_fft={n_fft}, "
            f"onesided={bool(onesided)}, got {errors.describe(x)}"
        )
    if return_complex and onesided:
        raise errors.ValueError_("istft: onesided must be False where return_complex is True")
    if _is_complex(window) and not return_complex:
        raise errors.ValueError_("istft: return_complex must be True where window is complex")
    if length is not None:
        length = _positive("istft", "length", length)
    elif center and (x.shape[-1] - 1) * hop_length + n_fft <= n_fft // 2 * 2:
        raise errors.ValueError_(f"istft: {x.shape[-1]} frames leave nothing of the signal where center is True")
    if not x.dtype.is_complex:
        x = cast(x, complex_type(_wide(x).dtype))
    out, least = _istft(
        x,
        window,
        n_fft,
        hop_length,
        win_length,
        bool(center),
        "ortho" if normalized else "backward",
        bool(onesided),
        length,
        bool(return_complex),
    )
    if not satisfies(least, lambda weight: weight > 1e-11):
        raise errors.ValueError_("istft: the windows do not cover every element of the signal; it cannot be restored")
    return out
